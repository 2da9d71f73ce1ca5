//! `stream_pick` in every cycle against a model that keeps its choice while the output waits.

use alcor_hw_bench::{Pace, Random, Sink, Source, soak};
use rand::Rng;

use crate::fifo::start;

#[test]
fn stream_pick() {
    let mut rng = Random::new("stream_pick");
    let mut dut = start();
    let [valid, ready, data] =
        ["pick_valid_i", "pick_ready_o", "pick_data_i"].map(|name| dut.lanes(name, 2));
    let [out_valid, out_ready, out_data] =
        ["pick_valid_o", "pick_ready_i", "pick_data_o"].map(|name| dut.pin(name));
    dut.reset();
    let paces = [
        Pace::Always,
        Pace::Chance(0.5),
        Pace::Chance(0.2),
        Pace::Bursts { on: 10, off: 20 },
    ];
    let mut sources: [Source<u32>; 2] = [Source::new(Pace::Always), Source::new(Pace::Always)];
    // The waiting choice.
    let mut held = None;
    let (mut taken, mut overtaken) = ([0, 0], 0);
    for _ in 0..soak(20) {
        let mut pace = || paces[rng.random_range(0..paces.len())];
        sources
            .iter_mut()
            .for_each(|source| source.set_pace(pace()));
        let mut sink = Sink::new(pace());
        for _ in 0..500 {
            let offers: [Option<u32>; 2] = std::array::from_fn(|stream| {
                if sources[stream].is_empty() {
                    sources[stream].push(rng.random());
                }
                sources[stream].offer(&mut *rng).copied()
            });
            for (stream, offer) in offers.iter().enumerate() {
                dut.set(valid, stream, u64::from(offer.is_some()));
                let word = offer.unwrap_or_else(|| rng.random());
                dut.set(data, stream, u64::from(word));
            }
            let takes = sink.ready(&mut *rng);
            dut.set(out_ready, 0, u64::from(takes));
            dut.settle();
            let place = format!("cycle {}, held {held:?}", dut.cycle());
            let chosen = held.unwrap_or(usize::from(offers[1].is_some()));
            overtaken += u64::from(held == Some(0) && offers[1].is_some());
            let offered = offers.iter().any(Option::is_some);
            assert_eq!(dut.get(out_valid, 0) == 1, offered, "{place}");
            if let Some(word) = offers[chosen] {
                assert_eq!(dut.get(out_data, 0), u64::from(word), "{place}");
            }
            for (stream, source) in sources.iter_mut().enumerate() {
                let is_ready = dut.get(ready, stream) == 1;
                assert_eq!(is_ready, takes && stream == chosen, "{place}");
                taken[stream] += u64::from(source.take(is_ready).is_some());
            }
            held = (offered && !takes).then_some(chosen);
            dut.clock();
        }
    }
    assert!(
        taken.iter().all(|&taken| taken > 500) && overtaken > 50,
        "{taken:?} words, {overtaken} waited while the other stream had one"
    );
}
