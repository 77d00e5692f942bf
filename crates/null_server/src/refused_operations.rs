//! Chooses the operations that are answered with an error. The shares are exact, and the errors are
//! spread evenly. The choice depends only on the number of the operation.
//!
//! After n operations of one event loop, exactly ⌊n·S⌋ were refused, where S is the sum of the
//! shares. The number of uses of each error code differs little from n times its share. The choice
//! is not random, so operation n has the same answer in every run.

use cql::response::ErrorCode;

/// A share of 1, in parts per billion. Shares are integers in this unit, so that their sums are
/// exact.
const WHOLE_PPB: i64 = 1_000_000_000;

/// Sequence of decisions on the operations of an event loop: an error code, or no error.
#[derive(Clone, Debug)]
pub struct Refusals {
    shares: Vec<Share>,
    total_ppb: i64,
    /// Number of refusals that are due over all error codes, in billionths of a refusal.
    due_ppb: i64,
}

#[derive(Clone, Debug)]
struct Share {
    code: ErrorCode,
    share_ppb: i64,
    due_ppb: i64,
}

impl Refusals {
    /// Creates refusals from error codes and their shares.
    ///
    /// # Errors
    /// A share is not between 0 and 1, or the sum of the shares exceeds 1.
    pub fn new(errors: &[(ErrorCode, f64)]) -> Result<Refusals, String> {
        let mut shares = Vec::new();
        for &(code, share) in errors {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!(
                    "the share of error {code:?} is {share}; it must be between 0 and 1"
                ));
            }
            let share_ppb = (share * WHOLE_PPB as f64).round() as i64;
            if share_ppb > 0 {
                shares.push(Share {
                    code,
                    share_ppb,
                    due_ppb: 0,
                });
            }
        }
        let total_ppb = shares.iter().map(|s| s.share_ppb).sum();
        if total_ppb > WHOLE_PPB {
            return Err(format!(
                "the shares of the errors sum to {}; the sum must be at most 1",
                total_ppb as f64 / WHOLE_PPB as f64
            ));
        }
        Ok(Refusals {
            shares,
            total_ppb,
            due_ppb: 0,
        })
    }

    /// Returns true if the null target never refuses operations.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// Returns the error code for the next operation. Returns `None` if the operation succeeds.
    pub fn next_code(&mut self) -> Option<ErrorCode> {
        for share in &mut self.shares {
            share.due_ppb += share.share_ppb;
        }
        self.due_ppb += self.total_ppb;
        if self.due_ppb < WHOLE_PPB {
            return None;
        }
        // This loop finds the code that is furthest behind its share. Among several such codes, it
        // finds the first.
        let mut furthest = 0;
        for index in 1..self.shares.len() {
            if self.shares[index].due_ppb > self.shares[furthest].due_ppb {
                furthest = index;
            }
        }
        self.due_ppb -= WHOLE_PPB;
        let share = self.shares.get_mut(furthest)?;
        share.due_ppb -= WHOLE_PPB;
        Some(share.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(refusals: &mut Refusals, operations: usize, code: ErrorCode) -> usize {
        (0..operations).filter(|_| refusals.next_code() == Some(code)).count()
    }

    #[test]
    fn one_share_is_exact_and_evenly_spread() {
        let mut refusals = Refusals::new(&[(ErrorCode::Overloaded, 0.25)]).unwrap();
        let refused: Vec<usize> = (1..=12).filter(|_| refusals.next_code().is_some()).collect();
        assert_eq!(refused, [4, 8, 12]);
    }

    #[test]
    fn shares_of_several_codes_are_exact() {
        let errors = [
            (ErrorCode::WriteTimeout, 0.003),
            (ErrorCode::Overloaded, 0.1),
            (ErrorCode::Unavailable, 0.047),
        ];
        for (code, expected) in [
            (ErrorCode::WriteTimeout, 3000),
            (ErrorCode::Overloaded, 100_000),
            (ErrorCode::Unavailable, 47_000),
        ] {
            let mut refusals = Refusals::new(&errors).unwrap();
            let seen = count(&mut refusals, 1_000_000, code);
            assert_eq!(seen, expected, "{code:?}");
        }
    }

    #[test]
    fn a_share_of_one_refuses_everything() {
        let mut all = Refusals::new(&[(ErrorCode::ServerError, 1.0)]).unwrap();
        assert_eq!(count(&mut all, 50, ErrorCode::ServerError), 50);
        let mut halves =
            Refusals::new(&[(ErrorCode::ServerError, 0.5), (ErrorCode::Overloaded, 0.5)]).unwrap();
        assert!((0..50).all(|_| halves.next_code().is_some()));
    }

    #[test]
    fn shares_that_cannot_be_are_refused_with_their_value() {
        let over = [(ErrorCode::ServerError, 0.6), (ErrorCode::Overloaded, 0.5)];
        assert!(Refusals::new(&over).unwrap_err().contains("1.1"));
        for share in [-0.1, 1.5, f64::NAN] {
            assert!(Refusals::new(&[(ErrorCode::ServerError, share)]).is_err());
        }
    }

    #[test]
    fn without_shares_nothing_is_refused() {
        let mut none = Refusals::new(&[]).unwrap();
        assert!(none.is_empty() && none.next_code().is_none());
    }
}
