//! Serializes a point on the load axis, such as `{"threads": 28.0}`. A missing point is written as
//! `{}`.

use analysis::procedure::Point;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Returns the point as a map, which is its form in the records.
pub fn map_of(point: Option<Point>) -> BTreeMap<String, f64> {
    point.map(BTreeMap::from).unwrap_or_default()
}

pub(crate) fn serialize<S: Serializer>(point: &Option<Point>, to: S) -> Result<S::Ok, S::Error> {
    map_of(*point).serialize(to)
}

pub(crate) fn deserialize<'de, D>(from: D) -> Result<Option<Point>, D::Error>
where
    D: Deserializer<'de>,
{
    let map = BTreeMap::<String, f64>::deserialize(from)?;
    let point = (!map.is_empty()).then(|| Point::try_from(map));
    point.transpose().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use crate::record::{PointRecord, SearchRecord};
    use serde_json::json;

    #[test]
    fn a_point_is_read_as_it_is_written_and_another_axis_is_refused() {
        let mut record = serde_json::to_value(PointRecord::default()).unwrap();
        assert_eq!(record["point"], json!({}));
        for point in [
            json!({}),
            json!({"threads": 28.0}),
            json!({"rate": 10000.0}),
        ] {
            record["point"] = point.clone();
            let read: PointRecord = serde_json::from_value(record.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap()["point"], point);
        }
        for point in [
            json!({"<b>": 28.0}),
            json!({"rate": 1.5}),
            json!({"rate": 1.0, "threads": 1.0}),
        ] {
            record["point"] = point;
            serde_json::from_value::<PointRecord>(record.clone()).unwrap_err();
        }
        let nowhere = serde_json::to_value(SearchRecord::default()).unwrap();
        assert!(nowhere.get("at").is_none());
    }
}
