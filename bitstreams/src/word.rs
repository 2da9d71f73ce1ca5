//! A word of the ID block, as eight hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A 32-bit word of the ID block. In TOML it is a string of eight hexadecimal digits, with or
/// without `0x`. Fewer digits are refused, because they may be a short form of another value.
///
/// # Examples
/// ```
/// use alcor_bitstreams::Word;
///
/// assert_eq!("a96aa6c0".parse(), Ok(Word(0xa96a_a6c0)));
/// assert_eq!(Word(0x12).to_string(), "0x00000012");
/// assert!("425cd63".parse::<Word>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Word(pub u32);

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// A text is not a word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected eight hexadecimal digits, for example 0xa96aa6c0")]
pub struct BadWord;

impl FromStr for Word {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Word, BadWord> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        // from_str_radix alone takes signs.
        let is_hex = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = is_hex.then(|| u32::from_str_radix(digits, 16).ok());
        value.flatten().map(Word).ok_or(BadWord)
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Word, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(de::Error::custom)
    }
}
