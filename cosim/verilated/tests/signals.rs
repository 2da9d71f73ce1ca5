//! Ports of all widths, parameters, defines, and rejected accesses.

use crate::support::{build, model};
use verimodel::{Direction, Error, Model};

fn counter() -> Model {
    model(build("counter").param("WIDTH", 12u64))
}

#[test]
fn a_counter_counts() {
    let mut counter = counter().instantiate("counter", ()).unwrap();
    let (clk, rst_n, en) = (
        counter.input("clk_i").unwrap(),
        counter.input("rst_ni").unwrap(),
        counter.input("en_i").unwrap(),
    );
    let count = counter.output("count_o").unwrap();
    counter.tick(&clk).unwrap();
    counter.set(&rst_n, 1).unwrap();
    counter.set(&en, 1).unwrap();
    assert_eq!(counter.run(&clk, 10).unwrap(), 10);
    assert_eq!(counter.get(&count).unwrap(), 10);
    assert_eq!(counter.cycles(), 11);
    assert_eq!(counter.time_ps(), 11 * verimodel::DEFAULT_PERIOD_PS);
    counter.set(&en, 0).unwrap();
    counter.run(&clk, 10).unwrap();
    assert_eq!(counter.get(&count).unwrap(), 10);
    counter.finish().unwrap();
    counter.finish().unwrap();
    assert!(matches!(counter.tick(&clk), Err(Error::Ended { .. })));
}

#[test]
fn parameters_and_defines_reach_the_model() {
    assert_eq!(counter().output("count_o").unwrap().width(), 12);
    let named = model(
        build("counter")
            .param("WIDTH", 40u64)
            .param_str("LABEL", "alcor")
            .define("STEP", "3"),
    );
    assert_eq!(named.output("count_o").unwrap().width(), 40);
    let mut counter = named.instantiate("counter", ()).unwrap();
    let clk = counter.input("clk_i").unwrap();
    for port in ["rst_ni", "en_i"] {
        let signal = counter.input(port).unwrap();
        counter.set(&signal, 1).unwrap();
    }
    counter.run(&clk, 5).unwrap();
    assert_eq!(
        counter.get(&counter.output("count_o").unwrap()).unwrap(),
        15
    );
    assert_eq!(counter.get(&counter.output("label_o").unwrap()).unwrap(), 1);
}

#[test]
fn ports_of_every_width_carry_their_bits() {
    let mut wide = model(build("wide")).instantiate("wide", ()).unwrap();
    for (name, value) in [
        ("one", 1),
        ("nine", 0x155),
        ("word", 0xdead_beef),
        ("forty", 0xab_cdef_0123),
    ] {
        let input = wide.input(&format!("{name}_i")).unwrap();
        let output = wide.output(&format!("{name}_o")).unwrap();
        wide.set(&input, value).unwrap();
        wide.eval().unwrap();
        assert_eq!(
            wide.get(&output).unwrap(),
            !value & ((1 << input.width()) - 1),
            "{name}"
        );
        let mut words = vec![0; output.words()];
        wide.get_words(&output, &mut words).unwrap();
        assert_eq!(
            u64::from(words[0]),
            wide.get(&output).unwrap() & 0xffff_ffff
        );
    }

    let (input, output) = (
        wide.input("wide_i").unwrap(),
        wide.output("wide_o").unwrap(),
    );
    wide.set_words(&input, &[1, 2, 3, 0xf]).unwrap();
    wide.eval().unwrap();
    let mut words = [0; 4];
    wide.get_words(&output, &mut words).unwrap();
    assert_eq!(words, [!1, !2, !3, 0]);
    wide.set(&input, 5).unwrap();
    wide.eval().unwrap();
    wide.get_words(&output, &mut words).unwrap();
    assert_eq!(words, [!5, !0, !0, 0xf]);

    let (input, output) = (
        wide.input("signed_i").unwrap(),
        wide.output("signed_o").unwrap(),
    );
    wide.set(&input, 0b101).unwrap();
    wide.eval().unwrap();
    assert_eq!(wide.get(&output).unwrap(), 0xfd);
    assert_eq!(wide.input("packed_i").unwrap().width(), 82);
    assert!(wide.output("under__score_o").is_ok());
}

#[test]
fn what_does_not_fit_is_refused() {
    let wide_model = model(build("wide"));
    let mut wide = wide_model.instantiate("wide", ()).unwrap();
    let (nine, output) = (
        wide.input("nine_i").unwrap(),
        wide.output("wide_o").unwrap(),
    );
    assert!(matches!(
        wide.set(&nine, 0x200),
        Err(Error::Width { width: 9, .. })
    ));
    assert!(matches!(
        wide.set_words(&nine, &[0x200]),
        Err(Error::Width { .. })
    ));
    assert!(matches!(
        wide.set_words(&nine, &[]),
        Err(Error::Width { .. })
    ));
    assert!(matches!(
        wide.set_words(&nine, &[0, 0]),
        Err(Error::Width { .. })
    ));
    assert!(matches!(
        wide.get(&output),
        Err(Error::Width { width: 100, .. })
    ));
    assert!(matches!(
        wide.get_words(&output, &mut [0; 3]),
        Err(Error::Width { .. })
    ));
    assert!(matches!(
        wide.set(&output, 0),
        Err(Error::NotWritable {
            direction: Direction::Output,
            ..
        })
    ));
    assert!(matches!(
        wide.tick(&nine),
        Err(Error::NotAClock { width: 9, .. })
    ));
    assert!(matches!(wide.set_period_ps(3), Err(Error::Period { .. })));

    let error = wide.input("no_such_i").unwrap_err().to_string();
    assert!(
        error.contains("no_such_i") && error.contains("nine_i") && !error.contains("nine_o"),
        "{error}"
    );
    assert!(wide.input("nine_o").is_err());

    let foreign = counter().input("clk_i").unwrap();
    assert!(matches!(
        wide.set(&foreign, 1),
        Err(Error::ForeignHandle { .. })
    ));
    assert!(matches!(
        wide.get(&foreign),
        Err(Error::ForeignHandle { .. })
    ));
    assert!(matches!(
        wide.tick(&foreign),
        Err(Error::ForeignHandle { .. })
    ));
    let mut other = wide_model.instantiate("other", ()).unwrap();
    other.set(&nine, 1).unwrap();
}
