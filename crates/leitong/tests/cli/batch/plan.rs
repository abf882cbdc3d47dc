use super::*;

#[test]
fn a_forecast_of_a_small_input() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(300));
    let run = room.good(&["plan", "in.jsonl", "--json"]);
    let plan = &run.json()[0];
    assert_eq!((&plan["documents"], &plan["sampled"]), (&json!(300), &json!(300)));
    for field in ["seconds", "memory_bytes", "work_bytes", "output_bytes", "free_bytes"] {
        assert!(plan[field].as_f64().unwrap() > 0.0, "{field}: {plan}");
    }
    let run = room.good(&["plan", "in.jsonl"]);
    assert!(run.lines().iter().any(|line| line.starts_with("time\t")), "{}", run.out);
    assert_eq!(room.names(), ["in.jsonl"], "nothing is left behind");
    assert_eq!(room.run(&["plan", "-"]).code, 3);
    assert_eq!(room.run(&["plan"]).code, 2);
}

#[test]
fn the_number_of_documents_from_a_sample() {
    let room = Room::new();
    let filler = "新闻".repeat(4000);
    let lines = (0..2500).map(|at| {
        let mut document = document(&at.to_string(), &text(at));
        document["other"] = filler.as_str().into();
        format!("{document}\n")
    });
    room.write("in.jsonl", lines.collect::<String>());
    let plan = room.good(&["plan", "in.jsonl", "--json"]).json().remove(0);
    let (documents, sampled) = (plan["documents"].as_f64().unwrap(), plan["sampled"].as_u64().unwrap());
    assert!(sampled < 2500 && (2000.0..3000.0).contains(&documents), "{plan}");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(30));
    room.write("bad.parquet", "PAR1 but not really");
    for missing in ["missing.jsonl", "missing.txt", "bad.parquet"] {
        for json in [&[][..], &["--json"]] {
            let run = room.run(&[&["plan", missing], json].concat());
            assert!(run.code == 3 && run.out.is_empty(), "{missing}: {}", run.out);
            assert!(
                run.err.contains(missing) && run.err.contains("no document could be read"),
                "{}",
                run.err
            );
        }
        let run = room.run(&["plan", "in.jsonl", missing, "--json"]);
        assert!(run.code == 3 && run.err.contains(missing), "{missing}: {}", run.err);
        assert_eq!(run.json()[0]["documents"], 30, "the rest is reckoned");
    }
}

#[test]
fn records_that_cannot_be_used_are_told() {
    let room = Room::new();
    room.jsonl("good.jsonl", &many(30));
    let bad: String = (0..12).map(|_| "{\n").collect();
    room.write("in.jsonl", room.read("good.jsonl") + &bad);
    let run = room.run(&["plan", "in.jsonl", "--json"]);
    assert_eq!((run.code, run.json()[0]["documents"].as_u64()), (3, Some(30)), "{}", run.out);
    assert!(run.err.contains("in.jsonl, line 31: ") && run.err.contains("2 records more"), "{}", run.err);
    room.write("empty.jsonl", "");
    room.good(&["plan", "empty.jsonl"]);
}
