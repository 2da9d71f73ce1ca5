//! The cycles of a run that are traced.

use std::path::PathBuf;

use crate::Options;

/// An action on the trace at a point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Start the trace.
    On(PathBuf),
    /// End the trace.
    Off,
}

/// A trace of one time span. Later resets do not restart it.
#[derive(Debug)]
pub(crate) struct Waves {
    file: Option<PathBuf>,
    /// The reset that it belongs to; none for the first that it fits.
    wanted: Option<u64>,
    from: u64,
    to: u64,
    /// Resets that the board was asked for.
    resets: u64,
    running: bool,
}

impl Waves {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            file: options.waves.clone(),
            wanted: options.waves_reset,
            from: options.waves_from,
            to: options.waves_to,
            resets: 0,
            running: false,
        }
    }

    /// A reset of the board was requested.
    pub(crate) fn reset(&mut self) {
        self.resets += 1;
    }

    /// Whether the time since the last reset is to be traced.
    fn is_wanted(&self) -> bool {
        self.wanted.is_none_or(|wanted| wanted == self.resets)
    }

    /// Returns the action that is due at `now`, once.
    pub(crate) fn due(&mut self, now: u64) -> Option<Turn> {
        if self.running && (now >= self.to || !self.is_wanted()) {
            self.running = false;
            return Some(Turn::Off);
        }
        if !self.running && self.is_wanted() && now >= self.from && now < self.to {
            let file = self.file.take()?;
            self.running = true;
            return Some(Turn::On(file));
        }
        None
    }

    /// Cycles from `now` until an action may be due.
    pub(crate) fn horizon(&self, now: u64) -> u64 {
        match (self.running, &self.file) {
            (true, _) => self.to.saturating_sub(now),
            (false, Some(_)) if self.is_wanted() && now < self.from => self.from - now,
            _ => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_on_and_off_once() {
        let (_, options) = Options::parse("x?waves=f&waves-from=10&waves-to=20").unwrap();
        let mut waves = Waves::new(&options);
        assert_eq!((waves.due(0), waves.horizon(0)), (None, 10));
        assert_eq!(waves.due(10), Some(Turn::On("f".into())));
        assert_eq!((waves.due(10), waves.horizon(12)), (None, 8));
        assert_eq!((waves.due(20), waves.due(20)), (Some(Turn::Off), None));
        assert_eq!((waves.due(12), waves.horizon(0)), (None, u64::MAX));
    }

    #[test]
    fn is_of_one_reset_if_one_is_named() {
        let (_, options) = Options::parse("x?waves=f&waves-from=10&waves-reset=2").unwrap();
        let mut waves = Waves::new(&options);
        for _ in 0..2 {
            assert_eq!((waves.due(10), waves.horizon(0)), (None, u64::MAX));
            waves.reset();
        }
        assert_eq!((waves.due(0), waves.horizon(0)), (None, 10));
        assert_eq!(waves.due(10), Some(Turn::On("f".into())));
        waves.reset();
        assert_eq!((waves.due(0), waves.due(10)), (Some(Turn::Off), None));
    }
}
