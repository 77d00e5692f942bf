//! Reads published figures from a file next to a study. The report shows them next to the measured
//! figures.

use crate::check;
use crate::checked_tree::Tree;
use crate::inputs::Inputs;
use crate::settings::{Figure, PublishedFile, Ratio, Variant};
use analysis::{VariantName, autocorrelation};
use yaml::{Diagnostics, Limits, Node, SourceText};

const METRICS: [&str; 6] = [
    "ops_per_s",
    "latency_ms.mean",
    "latency_ms.p50",
    "latency_ms.p95",
    "latency_ms.p99",
    "latency_ms.p999",
];

impl PublishedFile {
    /// Reads the file that the key `published` of a study with these variants names. Returns its
    /// name and content. Reports mistakes at the key. `is_whole` is true for the study without a
    /// scale. A scale may omit variants that the file mentions.
    pub(crate) fn for_study(
        root: &Node,
        study: &Tree,
        (variants, is_whole): (&[Variant], bool),
        inputs: &Inputs<'_>,
        out: &mut Diagnostics,
    ) -> Option<(String, PublishedFile)> {
        let file = study.find("published")?.text()?.to_owned();
        let names: Vec<&VariantName> = variants.iter().map(|variant| &variant.name).collect();
        match PublishedFile::read(&file, inputs, is_whole.then_some(&names)) {
            Ok(published) => Some((file, published)),
            Err(why) => {
                out.add(&root.nearest("published").place, why, None);
                None
            }
        }
    }

    /// Reads the file `name` in the folder of a study that has these variants. If the variants are
    /// `None`, the file may name any variant.
    ///
    /// # Errors
    /// The file cannot be read, has another form, or names variants that the study does not have.
    /// It is also an error if the file names an unknown fault. The error is a sentence.
    pub fn read(
        name: &str,
        inputs: &Inputs<'_>,
        variants: Option<&[&VariantName]>,
    ) -> Result<PublishedFile, String> {
        let text = inputs.read(name)?;
        let mut out = Diagnostics::new(vec![SourceText {
            name: name.to_owned(),
            text: text.clone(),
        }]);
        let Some(root) = yaml::parse(0, &text, Limits::STUDY, &mut out) else {
            return Err(out.to_string());
        };
        let value = check::any(&root).to_json();
        let published: PublishedFile =
            serde_json::from_value(value).map_err(|error| format!("{name}: {error}"))?;
        for ratio in &published.ratios {
            ratio
                .check(variants)
                .map_err(|why| format!("{name}: `{}`: {why}", ratio.what))?;
        }
        let known: Vec<&str> = target_spec::fault::FaultName::ALL
            .map(target_spec::fault::FaultName::name)
            .into();
        for failure in &published.failures {
            let unknown = failure.beside.iter().find(|kind| !known.contains(&kind.as_str()));
            if let Some(unknown) = unknown {
                let (fault, known) = (&failure.fault, known.join(", "));
                return Err(format!(
                    "{name}: `{fault}`: `{unknown}` is not a fault; use one of {known}"
                ));
            }
            for variant in &failure.variants {
                check_variant(variant, variants)
                    .map_err(|why| format!("{name}: `{}`: {why}", failure.fault))?;
            }
        }
        Ok(published)
    }
}

fn check_variant(name: &str, known: Option<&[&VariantName]>) -> Result<(), String> {
    match known.filter(|known| known.iter().all(|one| one.as_str() != name)) {
        Some(known) => {
            let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
            Err(format!(
                "`{name}` is not a variant; the variants are {}",
                known.join(", ")
            ))
        }
        None => Ok(()),
    }
}

impl Ratio {
    /// Returns true if the ratio compares means over all points instead of two points.
    pub fn is_over_points(&self) -> bool {
        self.over == "points"
    }

    fn check(&self, variants: Option<&[&VariantName]>) -> Result<(), String> {
        for side in [&self.of, &self.to] {
            check_variant(side, variants)?;
        }
        if !self.over.is_empty() && !self.is_over_points() {
            return Err(format!(
                "`over` is `{}`: write `points`, or omit the key",
                self.over
            ));
        }
        let names_place = !self.of_at.is_empty() || !self.to_at.is_empty();
        if !self.over.is_empty() && names_place {
            return Err("a figure has both `over` and a point: remove one of the two".to_owned());
        }
        if !METRICS.contains(&self.metric.as_str()) {
            let known = METRICS.join(", ");
            return Err(format!(
                "`{}` is not a metric; use one of {known}",
                self.metric
            ));
        }
        let (least, most) = self.range().ok_or("write `value`, or `least` and `most`")?;
        if least > 0.0 && least <= most && most.is_finite() {
            Ok(())
        } else {
            Err(format!("{least} to {most} is not a valid range of ratios"))
        }
    }

    /// Returns the smallest and the largest published ratio. `None` if no ratio was published.
    pub fn range(&self) -> Option<(f64, f64)> {
        match (self.value, self.least, self.most) {
            (Some(value), None, None) => Some((value, value)),
            (None, Some(least), Some(most)) => Some((least, most)),
            _ => None,
        }
    }
}

impl Figure {
    /// Returns the printed mean latency ÷ the mean latency that follows by Little's law from the
    /// printed throughput and number in flight. `None` if one of the three figures was not printed.
    pub fn contradicts(&self) -> Option<f64> {
        let implied_ms = autocorrelation::little_ms(self.in_flight?, self.ops_per_s?);
        Some(self.mean_ms? / implied_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Overrides;
    use std::collections::BTreeMap;

    fn read(text: &str) -> Result<PublishedFile, String> {
        let overrides = Overrides {
            inputs: BTreeMap::from([("p.yaml".to_owned(), text.to_owned())]),
            ..Overrides::default()
        };
        PublishedFile::read(
            "p.yaml",
            &Inputs::new(&overrides),
            Some(&[&"off".into(), &"on".into()]),
        )
    }

    #[test]
    fn a_file_is_read_and_mistakes_in_it_are_said() {
        let ratio = "ratios: [{what: peak, metric: ops_per_s, of: on, to: off, value: 1.198}]";
        let failure = "failures: [{fault: node, beside: [node-kill], claim: c}]";
        let good = format!("title: t\nfigures: [{{in_flight: 96}}]\n{failure}\n{ratio}");
        let good = read(&good).unwrap();
        assert_eq!(good.failures[0].claim, "c");
        assert_eq!(good.ratios[0].range(), Some((1.198, 1.198)));
        for (wrong, part) in [
            (ratio.replace("of: on", "of: one"), "`one` is not a variant"),
            (ratio.replace("ops_per_s", "ops"), "`ops` is not a metric"),
            (ratio.replace("value: 1.198", "least: 2"), "write `value`"),
            (ratio.replace("1.198", "-1"), "is not a valid range"),
            (ratio.replace("what", "who"), "unknown field `who`"),
            (
                "failures: [{fault: node, beside: [node-kil], claim: c}]".to_owned(),
                "`node-kil` is not a fault",
            ),
            (
                "failures: [{fault: node, beside: [node-kill], variants: [two], claim: c}]"
                    .to_owned(),
                "`two` is not a variant",
            ),
            ("figures: 3".to_owned(), "p.yaml"),
            ("{".to_owned(), "p.yaml"),
        ] {
            let error = read(&wrong).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    /// These figures are two of the cases for which `contradicts` was written. The throughputs
    /// imply mean latencies of 35.5 and 80.8 ms.
    #[test]
    fn a_latency_that_throughput_does_not_allow_for_is_seen() {
        let figure = |in_flight, ops_per_s, mean_ms| Figure {
            in_flight: Some(in_flight),
            ops_per_s: Some(ops_per_s),
            mean_ms: Some(mean_ms),
            ..Figure::default()
        };
        let off = figure(12_320.0, 347_006.0, 8_373.0).contradicts().unwrap();
        let on = figure(33_600.0, 415_609.0, 1_583.0).contradicts().unwrap();
        assert!(
            (off - 236.0).abs() < 1.0 && (on - 20.0).abs() < 1.0,
            "{off} {on}"
        );
        let fine = figure(1_600.0, 142_727.0, 11.2).contradicts().unwrap();
        assert!((fine - 1.0).abs() < 0.01, "{fine}");
        assert_eq!(Figure::default().contradicts(), None);
    }
}
