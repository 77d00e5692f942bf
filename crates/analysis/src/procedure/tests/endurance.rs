//! Tests the measurement of one point for hours, with the order of the turns and their windows.

use super::*;

/// Returns a different number for each role.
pub(super) fn number_of(role: Role) -> u64 {
    match role {
        Role::Probe => 0,
        Role::Hold => 1,
        Role::Expected => 2,
        Role::Endurance => 3,
        Role::Beside(number) => 4 + u64::from(number),
    }
}

pub(super) fn any() -> impl Strategy<Value = Procedure> {
    let beside = proptest::collection::vec(1..1000u64, 0..Endurance::BESIDE_MAX);
    (any_points(), beside).prop_map(|(points, beside_ns)| {
        Procedure::from(Endurance {
            point: points[0],
            for_ns: 5000,
            beside_ns,
            within: 0.04,
        })
    })
}

#[test]
fn endurance_turns_have_their_windows_and_survive_failures() {
    let procedure = Procedure::from(Endurance {
        point: Point::Threads(8),
        for_ns: 240,
        beside_ns: vec![10, 20],
        within: 0.04,
    });
    let turns = procedure.outlook().turns_max;
    let roles: Vec<Role> = (0..turns).map(|turn| procedure.role(turn)).collect();
    assert_eq!(roles, [Role::Beside(0), Role::Beside(1), Role::Endurance]);
    let windows = roles.iter().map(|role| procedure.window_ns(*role, 60));
    assert_eq!(windows.collect::<Vec<_>>(), [10, 20, 240]);
    let mut seen = Vec::new();
    for role in roles {
        let point = Point::Threads(8);
        let asked = Next::Measure(vec![Ask { point, role }]);
        assert_eq!(procedure.next(&seen), asked);
        let found = None;
        seen.push(SeenTrial { point, role, found });
    }
    assert_eq!(procedure.next(&seen), Next::Answer(Answer::Complete));
    // In other procedures, a hold is three times as long as the window of the study.
    let fixed = Procedure::from(FixedPoint(Point::Threads(8)));
    assert_eq!(fixed.window_ns(Role::Hold, 60), 180);
    assert_eq!(fixed.window_ns(Role::Probe, 60), 60);
    for name in ["beside-0", "beside-", "beside-900", "other"] {
        assert_eq!(Role::parse(name), Role::Probe, "{name}");
    }
}
