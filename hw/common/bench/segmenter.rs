//! `segmenter` against a model that lays out each packet byte by byte.

use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::fifo::start;

/// Payload words of the instances in `common_bench`.
const PAYLOAD_WORDS: [u64; 2] = [16, 128];

#[test]
fn segmenter() {
    let mut rng = Random::new("segmenter");
    let mut dut = start();
    let [left, align, last, fits, bytes, words, end_lane] = [
        "segment_left_i",
        "segment_align_i",
        "segment_last_i",
        "segment_fits_o",
        "segment_bytes_o",
        "segment_words_o",
        "segment_end_lane_o",
    ]
    .map(|name| dut.lanes(name, PAYLOAD_WORDS.len()));
    dut.reset();
    let (mut whole, mut cut) = (0, 0);
    for (lane, payload) in PAYLOAD_WORDS.into_iter().enumerate() {
        let room = 4 * payload;
        // All lengths around the end of a packet, and lengths with high bits only.
        let short = 0..=2 * room + 8;
        let long = (0..soak(500)).map(|_| u64::from(rng.random::<u32>()));
        let powers = (3..32).map(|bit| 1 << bit);
        let lengths: Vec<u64> = short.chain(long).chain(powers).collect();
        for length in lengths {
            for first in 0..4 {
                dut.set(left, lane, length);
                dut.set(align, lane, first);
                let does_fit = first + length <= room;
                let place = format!("{length} bytes from lane {first}, packets of {payload} words");
                // The sender splits by the space in a packet, the receiver by the length in the
                // header.
                for is_last in [does_fit, false] {
                    dut.set(last, lane, u64::from(is_last));
                    dut.settle();
                    assert_eq!(dut.get(fits, lane) == 1, does_fit, "{place}");
                    let here = if is_last { length } else { room - first };
                    assert_eq!(dut.get(bytes, lane), here, "{place}");
                    let touched = if here == 0 {
                        0
                    } else {
                        (first + here).div_ceil(4)
                    };
                    assert_eq!(dut.get(words, lane), touched, "{place}");
                    if here > 0 {
                        assert_eq!(dut.get(end_lane, lane), (first + here - 1) % 4, "{place}");
                    }
                }
                whole += u64::from(does_fit);
                cut += u64::from(!does_fit);
            }
        }
    }
    assert!(whole > 1_000 && cut > 1_000, "{whole} whole, {cut} cut");
}
