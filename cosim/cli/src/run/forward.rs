//! Forwards the output of ranks line by line.

use std::io::{self, Read, Write};

/// Maximum length of a line. Longer lines are printed in parts.
const LINE_BYTES: usize = 1 << 16;

/// Copies whole lines from `from` to `to`, each after `prefix`, until the end of `from`.
///
/// If a write to `to` fails, the rest is read and dropped, so the rank is not ended by a closed
/// pipe.
pub fn forward(mut from: impl Read, to: &mut dyn FnMut(&[u8]) -> io::Result<()>, prefix: &str) {
    let mut buffer = [0; 8192];
    let mut line = prefix.as_bytes().to_vec();
    loop {
        let got = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        for piece in buffer[..got].split_inclusive(|&byte| byte == b'\n') {
            line.extend_from_slice(piece);
            let is_whole = piece.ends_with(b"\n");
            if is_whole || line.len() > LINE_BYTES {
                if !is_whole {
                    line.push(b'\n');
                }
                let _ = to(&line);
                line.truncate(prefix.len());
            }
        }
    }
    if line.len() > prefix.len() {
        line.push(b'\n');
        let _ = to(&line);
    }
}

/// Prints a line on standard output without delay.
pub fn to_stdout(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.flush()
}

/// Prints a line on standard error without delay.
pub fn to_stderr(line: &[u8]) -> io::Result<()> {
    io::stderr().lock().write_all(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(text: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut to = |line: &[u8]| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        forward(text, &mut to, "[3] ");
        lines
    }

    #[test]
    fn each_line_comes_whole_behind_its_rank() {
        assert_eq!(forwarded(b""), [""; 0]);
        assert_eq!(forwarded(b"a\n\nb"), ["[3] a\n", "[3] \n", "[3] b\n"]);
        let long = vec![b'x'; 3 * LINE_BYTES];
        let lines = forwarded(&long);
        assert!(lines.len() >= 3 && lines.iter().all(|line| line.len() < LINE_BYTES + 9000));
        let count: usize = lines.iter().map(|line| line.matches('x').count()).sum();
        assert_eq!(count, long.len());
    }
}
