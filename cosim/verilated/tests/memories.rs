//! Public arrays and variables by name.

use crate::support::{build, model};
use verimodel::{Error, Instance};

fn memories() -> Instance<()> {
    model(build("memories"))
        .instantiate("memories", ())
        .unwrap()
}

#[test]
fn what_the_model_writes_is_read() {
    let mut bank = memories();
    let clk = bank.input("clk_i").unwrap();
    for (port, value) in [("we_i", 1), ("addr_i", 3), ("data_i", 0x1234_5678)] {
        let signal = bank.input(port).unwrap();
        bank.set(&signal, value).unwrap();
    }
    bank.tick(&clk).unwrap();

    let read = |name: &str, offset: usize, len: usize| {
        let memory = bank.memory(&format!("memories.u_bank.{name}")).unwrap();
        assert_eq!(memory.elements(), 16);
        let mut bytes = vec![0; len];
        bank.memory_read(&memory, offset, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(read("words", 12, 4), 0x1234_5678u32.to_le_bytes());
    assert_eq!(read("words", 11, 3), [0, 0x78, 0x56]);
    assert_eq!(read("bytes", 3, 1), [0x78]);
    assert_eq!(
        read("doubles", 24, 8),
        0x1234_5678_edcb_a987u64.to_le_bytes()
    );
    assert_eq!(
        read("lines", 48, 16),
        [0x1234_5678u32.to_le_bytes(); 4].concat()
    );

    let writes = bank.public("memories.u_bank.writes_q").unwrap();
    assert_eq!((writes.width(), bank.get(&writes).unwrap()), (16, 1));
    bank.set(&writes, 41).unwrap();
    bank.tick(&clk).unwrap();
    assert_eq!(bank.get(&writes).unwrap(), 42);
}

#[test]
fn what_is_written_is_seen_by_the_model() {
    let mut bank = memories();
    let (clk, addr) = (bank.input("clk_i").unwrap(), bank.input("addr_i").unwrap());
    let words = bank.memory("memories.u_bank.words").unwrap();
    let lines = bank.memory("memories.u_bank.lines").unwrap();
    let all: Vec<u8> = (0..words.len() as u8).collect();
    bank.memory_write(&words, 0, &all).unwrap();
    bank.memory_write(&lines, 2 * 16 + 4, &[0xaa, 0xbb])
        .unwrap();
    bank.set(&addr, 2).unwrap();
    bank.tick(&clk).unwrap();
    assert_eq!(
        bank.get(&bank.output("word_o").unwrap()).unwrap(),
        0x0b0a_0908
    );
    let mut line = [0; 4];
    bank.get_words(&bank.output("line_o").unwrap(), &mut line)
        .unwrap();
    assert_eq!(line, [0, 0xbbaa, 0, 0]);

    // An element of 37 bits has no bits above bit 36.
    let odds = bank.memory("memories.u_bank.odds").unwrap();
    assert_eq!((odds.element_bits(), odds.element_bytes()), (37, 8));
    bank.memory_write(&odds, 2 * 8 + 1, &[0xff; 14]).unwrap();
    bank.tick(&clk).unwrap();
    assert_eq!(
        bank.get(&bank.output("odd_o").unwrap()).unwrap(),
        0x1f_ffff_ff00
    );
}

#[test]
fn accesses_are_bounded() {
    let mut bank = memories();
    let words = bank.memory("memories.u_bank.words").unwrap();
    let mut eight = [0; 8];
    assert!(matches!(
        bank.memory_read(&words, 60, &mut eight),
        Err(Error::Bounds { size: 64, .. })
    ));
    assert!(matches!(
        bank.memory_write(&words, usize::MAX, &eight),
        Err(Error::Bounds { .. })
    ));
    assert!(matches!(
        bank.memory_read(&words, 65, &mut []),
        Err(Error::Bounds { .. })
    ));
    bank.memory_read(&words, 64, &mut []).unwrap();
    bank.memory_read(&words, 56, &mut eight).unwrap();

    let read_only = bank.public("memories.u_bank.read_only_q").unwrap();
    assert!(matches!(
        bank.set(&read_only, 1),
        Err(Error::NotWritable { .. })
    ));
    let error = bank.memory("memories.u_bank.none").unwrap_err().to_string();
    assert!(error.contains("memories.u_bank.words"), "{error}");
    assert!(bank.memory("memories.u_bank.writes_q").is_err());
    assert!(bank.public("memories.u_bank.words").is_err());
}
