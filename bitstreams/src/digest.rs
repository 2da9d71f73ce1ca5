//! The digest of a file: its length, a CRC-32 and a SHA-256, computed in one pass.

use std::io::{self, Read};

use sha2::Digest as _;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Length, CRC-32 and SHA-256 of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The number of bytes.
    pub bytes: u64,
    /// CRC-32 (IEEE) of the bytes, as eight hexadecimal digits.
    pub crc32: String,
    /// SHA-256 of the bytes, as 64 hexadecimal digits.
    pub sha256: String,
}

impl Digest {
    /// The digest of all bytes of `from`, which may be more than fit in memory.
    ///
    /// # Errors
    /// Errors of `from`.
    ///
    /// # Examples
    /// ```
    /// let digest = alcor_bitstreams::Digest::of(&b"123456789"[..])?;
    /// assert_eq!((digest.bytes, &*digest.crc32), (9, "cbf43926"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(mut from: impl Read) -> io::Result<Digest> {
        let mut crc = crc32fast::Hasher::new();
        let mut sha = sha2::Sha256::new();
        let mut bytes = 0;
        let mut piece = vec![0; PIECE];
        loop {
            let count = match from.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            crc.update(&piece[..count]);
            sha.update(&piece[..count]);
            bytes += count as u64;
        }
        let sha256 = sha
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Digest {
            bytes,
            crc32: format!("{:08x}", crc.finalize()),
            sha256,
        })
    }
}
