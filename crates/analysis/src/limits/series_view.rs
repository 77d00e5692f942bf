//! Access to the readings of a window, by name and place.

use measure::Bin;

/// Readings of one series in the measured window.
#[derive(Clone, Debug)]
pub struct WindowSeries<'a> {
    /// Name of the series, as the probe writes it.
    pub name: &'a str,
    /// Node, host, device (`host1/vda`) or thread (`node1/C2 CompilerThre`) that the series belongs
    /// to.
    pub place: &'a str,
    /// Bins with the readings of the series, in order of time. The list is not empty.
    pub bins: Vec<Bin>,
}

impl WindowSeries<'_> {
    /// Returns the mean of all readings.
    pub fn mean(&self) -> f64 {
        self.sum() / self.count() as f64
    }

    /// Returns the number of readings.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// Returns the sum of all readings.
    pub fn sum(&self) -> f64 {
        self.bins.iter().map(|bin| bin.sum).sum()
    }

    /// Returns the mean of the first bin.
    pub fn first(&self) -> f64 {
        self.bins.first().map_or(0.0, Bin::mean)
    }

    /// Returns the mean of the last bin.
    pub fn last(&self) -> f64 {
        self.bins.last().map_or(0.0, Bin::mean)
    }

    /// Returns the largest reading.
    pub fn max(&self) -> f64 {
        self.bins.iter().map(|bin| bin.max).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the share of the bins for whose mean `is_so` returns true.
    pub fn share(&self, is_so: impl Fn(f64) -> bool) -> f64 {
        let count = self.bins.iter().filter(|bin| is_so(bin.mean())).count();
        count as f64 / self.bins.len() as f64
    }

    /// Returns true if the mean of the bins in the last third of the window is not lower than the
    /// mean in the first third.
    pub fn is_not_falling(&self) -> bool {
        let third = self.bins.len().div_ceil(3);
        let mean = |bins: &[Bin]| bins.iter().map(Bin::mean).sum::<f64>() / bins.len() as f64;
        mean(&self.bins[self.bins.len() - third..]) >= mean(&self.bins[..third])
    }
}

pub(super) struct View<'a>(pub &'a [WindowSeries<'a>]);

impl<'a> View<'a> {
    pub fn at(&self, name: &str, place: &str) -> Option<&'a WindowSeries<'a>> {
        self.0.iter().find(|one| one.name == name && one.place == place)
    }

    pub fn mean(&self, name: &str, place: &str) -> Option<f64> {
        Some(self.at(name, place)?.mean())
    }

    /// Returns the series with this name at the devices or threads of a place.
    pub fn below(&self, name: &str, place: &str) -> Vec<&'a WindowSeries<'a>> {
        let is_below = |one: &&WindowSeries<'_>| {
            let rest = one.place.strip_prefix(place);
            one.name == name && rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.0.iter().filter(is_below).collect()
    }

    pub fn all_of(&self, name: &str) -> Vec<&'a WindowSeries<'a>> {
        self.0.iter().filter(|one| one.name == name).collect()
    }

    /// Returns the series of a place. The name of each series begins with the first string of
    /// `ends` and ends with the second string.
    pub fn like(&self, ends: [&str; 2], place: &str) -> Vec<&'a WindowSeries<'a>> {
        let fits = |one: &&WindowSeries<'_>| {
            one.place == place && one.name.starts_with(ends[0]) && one.name.ends_with(ends[1])
        };
        self.0.iter().filter(fits).collect()
    }
}
