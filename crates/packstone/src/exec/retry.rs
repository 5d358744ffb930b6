//! Work that is tried again where it failed for a reason that passes.

use std::time::Duration;

use crate::error::{Error, Result};

/// How often, and after which pauses, what failed for a reason that passes is tried again.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Tries in all, the first one counted.
    pub attempts: u32,
    /// The pause after the first failure; each further one is twice as long.
    pub first: Duration,
    /// The longest pause.
    pub most: Duration,
}

impl Default for Retry {
    /// Five tries; a second, and a minute at most.
    fn default() -> Self {
        Self { attempts: 5, first: Duration::from_secs(1), most: Duration::from_secs(60) }
    }
}

impl Retry {
    /// Does `work` until it succeeds, fails for a reason that stays, or was tried often enough. `work` can be repeated.
    ///
    /// Pauses are cut by chance to between a half and all of their length, so that those who fail together do not come
    /// back together.
    ///
    /// # Errors
    /// The last one of `work`.
    pub fn run<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        let mut pause = self.first;
        for _ in 1..self.attempts {
            match work() {
                Err(error) if passes(&error) => {}
                other => return other,
            }
            let mut random = [0u8; 8];
            // Without chance, all of it.
            let cut = getrandom::fill(&mut random).map_or(0, |()| u64::from_le_bytes(random) % 512);
            let length = pause.min(self.most);
            std::thread::sleep(length.mul_f64((1024 - cut) as f64 / 1024.0));
            pause = pause.saturating_mul(2);
        }
        work()
    }
}

/// True for faults of a device or a network that may be gone the next time: not for full disks, missing permissions,
/// names that are taken, and whatever is no fault of the operating system.
fn passes(error: &Error) -> bool {
    use std::io::ErrorKind as E;
    /// A device that failed once.
    const EIO: i32 = 5;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            let known = [
                E::TimedOut,
                E::WouldBlock,
                E::ResourceBusy,
                E::StaleNetworkFileHandle,
                E::ConnectionReset,
                E::ConnectionAborted,
                E::NotConnected,
                E::NetworkDown,
                E::NetworkUnreachable,
                E::HostUnreachable,
            ];
            return known.contains(&error.kind()) || error.raw_os_error() == Some(EIO);
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use packstone_io::{IoError, Kind};

    use super::*;

    #[test]
    fn what_passes_is_tried_again_and_what_stays_is_not() {
        let retry = Retry { attempts: 4, first: Duration::ZERO, most: Duration::ZERO };
        let tries = |fault: &dyn Fn() -> Error, good: usize| {
            let mut count = 0;
            let result = retry.run(|| {
                count += 1;
                if count > good { Ok(()) } else { Err(fault()) }
            });
            (count, result.is_ok())
        };
        let os = |number| {
            move || IoError::os("create", "x", std::io::Error::from_raw_os_error(number)).into()
        };
        // EIO, EAGAIN, EBUSY, ETIMEDOUT, ESTALE
        for passing in [5, 11, 16, 110, 116] {
            assert_eq!(tries(&os(passing), 3), (4, true), "{passing}");
            assert_eq!(tries(&os(passing), 9), (4, false), "{passing}");
        }
        // EPERM, EACCES, EEXIST, EINVAL, EMFILE, ENOSPC, EROFS, EDQUOT
        for staying in [1, 13, 17, 22, 24, 28, 30, 122] {
            assert_eq!(tries(&os(staying), 3), (1, false), "{staying}");
        }
        let own = || IoError::new(Kind::Io, "create", "x", "no space left on device").into();
        assert_eq!(tries(&own, 3), (1, false));
        let none = Retry { attempts: 0, ..retry.clone() };
        assert!(none.run(|| Ok(())).is_ok());
    }
}
