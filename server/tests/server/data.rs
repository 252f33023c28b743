//! Tables: those that ship, uploads good and bad, pinned contents.

use crate::app::App;
use serde_json::{Value, json};

const GOOD: &str = "a,b,kind\n1,2,small\n3,4,large\n5,6,small\n";

async fn upload(app: &App, name: &str, csv: &str) -> Value {
    let answer = app.post(&format!("/api/v1/data/{name}"), "text/csv", csv.to_owned()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn the_tables_that_ship_are_listed_with_their_rows() {
    let app = App::new();
    let list = app.get("/api/v1/data").await.json();
    let names: Vec<&str> =
        list["tables"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["iris", "diabetes", "winequality", "winequality-classes"]);
    let iris = app.get("/api/v1/data/iris").await.json();
    assert_eq!(iris["columns"].as_array().unwrap().len(), 5);
    assert_eq!(iris["rows"].as_array().unwrap().len(), 150 * 5);
    assert_eq!(iris["target"]["kind"], "classes");
    assert_eq!(iris["target"]["names"][0], "setosa");
    assert_eq!(iris["hash"], list["tables"][0]["hash"]);
    assert_eq!(app.get("/api/v1/data/diabetes").await.json()["target"], json!({"kind": "number"}));
}

#[tokio::test]
async fn an_uploaded_table_is_kept() {
    let app = App::new();
    let info = upload(&app, "sizes", GOOD).await;
    assert_eq!(info["rows"], 3);
    assert_eq!(info["target"], json!({ "kind": "classes", "names": ["large", "small"] }));
    let app = app.restart();
    let table = app.get("/api/v1/data/sizes").await.json();
    assert_eq!(table["rows"], json!([1.0, 2.0, 1.0, 3.0, 4.0, 0.0, 5.0, 6.0, 1.0]));
    assert_eq!(table["hash"], info["hash"]);
    let list = app.get("/api/v1/data").await.json();
    assert_eq!(list["tables"][4], info);
    assert_eq!(app.delete("/api/v1/data/sizes").await.status, 204);
    assert_eq!(app.get("/api/v1/data/sizes").await.problem()["status"], 404);
    assert_eq!(app.delete("/api/v1/data/sizes").await.problem()["status"], 404);
}

#[tokio::test]
async fn the_target_can_be_any_column_and_of_either_kind() {
    let app = App::new();
    let csv = "y;a\n2;0.5\n1;0.25\n2;0.75\n";
    let post = async |query: &str| {
        app.post(&format!("/api/v1/data/t{query}"), "text/csv", csv).await.json()
    };
    assert_eq!(post("").await["target"]["kind"], "number");
    let chosen = post("?target=y").await;
    assert_eq!(chosen["columns"], json!(["a", "y"]));
    assert_eq!(chosen["target"]["kind"], "number");
    let classes = post("?target=y&kind=classification").await;
    assert_eq!(classes["target"]["names"], json!(["1", "2"]));
    let rows = app.get("/api/v1/data/t").await.json()["rows"].clone();
    assert_eq!(rows, json!([0.5, 1.0, 0.25, 0.0, 0.75, 1.0]));
}

#[tokio::test]
async fn bad_tables_are_refused_with_line_and_column() {
    let app = App::new();
    let wide = format!("a,{}\n", "b".repeat(20));
    let cases: [(&str, &[u8], u64, u64, &str); 19] = [
        ("", b"", 1, 1, "at least one feature column"),
        ("", b"a\n1\n2\n", 1, 1, "at least one feature column"),
        ("", b"1,2\n3,4\n5,6\n", 1, 1, "must name the columns"),
        ("", b"a,,y\n1,2,3\n", 1, 2, "column 2 has no name"),
        ("", b"a,b,a\n1,2,3\n", 1, 3, "both called `a`"),
        ("", b"a,y\n", 1, 2, "at least two rows"),
        ("", b"a,y\n1,2\n", 2, 2, "at least two rows"),
        ("", b"a,b,y\n1,2,3\n1,x,3\n4,5,6\n", 3, 2, "`b` is `x`, not a number"),
        ("", b"a,b,y\n1,,3\n1,2,3\n", 2, 2, "`b` is empty"),
        ("", b"a,y\n1,2\n1,\n", 3, 2, "`y` is empty"),
        ("", b"a,y\n1,2\ninf,3\n", 3, 1, "not a finite number"),
        ("", b"a;y\n1,5;2\n1.5;3\n", 2, 1, "not a number"),
        ("", b"a,b,y\n1,2,3\n4,5\n7,8,9\n", 3, 3, "2 fields, the header has 3"),
        ("", b"a,b,y\n1,2,3\n4,5,6,7\n", 3, 4, "4 fields, the header has 3"),
        ("?kind=regression", b"a,y\n1,2\n2,b\n", 3, 2, "`y` is `b`, not a number"),
        ("?kind=classification", b"a,y\n1,2\n2,2\n", 2, 2, "one class only"),
        ("", b"a,y\n1,p\n2,q\n3,r\n", 2, 2, "looks like text"),
        ("?target=z", b"a,y\n1,2\n2,3\n", 1, 1, "no column `z`"),
        ("", b"a,y\n1,2\n\xff,3\n", 3, 1, "line 3 is not UTF-8"),
    ];
    for (query, csv, line, column, message) in cases {
        let path = format!("/api/v1/data/bad{query}");
        let answer = app.post(&path, "text/csv", csv.to_vec()).await;
        let shown = String::from_utf8_lossy(csv).into_owned();
        assert_eq!(answer.status, 422, "{shown}: {}", answer.text());
        let problem = answer.problem();
        assert_eq!(problem["type"], "/api/v1/problems#bad-table");
        let first = &problem["diagnostics"][0];
        assert!(first["message"].as_str().unwrap().contains(message), "{shown}: {first}");
        assert_eq!((&first["line"], &first["column"]), (&json!(line), &json!(column)), "{shown}");
    }
    assert_eq!(app.get("/api/v1/data/bad").await.status, 404, "nothing is half-stored");
    let all = app.post("/api/v1/data/bad", "text/csv", "a,y\nx,1\n2,2\ny,3\n").await.problem();
    assert_eq!(all["diagnostics"].as_array().unwrap().len(), 2, "all at once");
    assert_eq!(app.post("/api/v1/data/bad", "text/csv", wide).await.status, 422);
}

#[tokio::test]
async fn a_quote_that_is_not_closed_swallows_nothing() {
    let app = App::new();
    for (csv, line) in [
        ("a,kind\n1,\"x\n2,y\n3,x\n", 2),
        ("a,kind\r\n1,x\r\n2,\"y\r\n3,x", 3),
        ("a,\"kind\n1,x\n2,y\n", 1),
        ("a,kind\n1,x\n2,\"x\n3,\"y\"\n4,y\n", 3),
        ("a,kind\n1,\"x\"\"\n2,y\n", 2),
    ] {
        let answer = app.post("/api/v1/data/bad", "text/csv", csv).await;
        assert_eq!(answer.status, 422, "{csv}");
        let problem = answer.problem();
        let first = &problem["diagnostics"][0];
        let message = format!("the quote opened on line {line} is not closed");
        assert_eq!(first["message"], message, "{csv}");
        assert_eq!(first["line"], line);
    }
    assert_eq!(app.get("/api/v1/data/bad").await.status, 404, "nothing is stored");
    let good = "a,\"the \"\"kind\"\"\"\n1,\"x,\ny\" \n2,z\n3,a\"b\n4,z\n";
    assert_eq!(
        upload(&app, "quoted", good).await["target"]["names"],
        json!(["a\"b", "x,\ny", "z"])
    );
}

#[tokio::test]
async fn a_slip_among_numbers_makes_no_classes() {
    let app = App::new();
    let csv = |cells: &[String]| {
        let rows = cells.iter().enumerate().map(|(i, cell)| format!("{i},{cell}\n"));
        format!("a,y\n{}", rows.collect::<String>())
    };
    let mut numbers: Vec<String> = (0..60).map(|i| format!("{}.5", 3 * i)).collect();
    numbers[37] = "6O.0".to_owned();
    let mut few: Vec<String> = (0..12).map(|i| (i % 3).to_string()).collect();
    few[4] = "l".to_owned();
    for (cells, line, cell) in [(&numbers, 39, "`6O.0`"), (&few, 6, "`l`")] {
        let answer = app.post("/api/v1/data/slip", "text/csv", csv(cells)).await;
        assert_eq!(answer.status, 422, "{cell}");
        let problem = answer.problem();
        let list = problem["diagnostics"].as_array().unwrap();
        assert_eq!(list.len(), 1, "{problem}");
        assert_eq!((&list[0]["line"], &list[0]["column"]), (&json!(line), &json!(2)));
        let message = list[0]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("`y` is {cell}, not a number")), "{message}");
        let meant = app.post("/api/v1/data/meant?kind=classification", "text/csv", csv(&few)).await;
        assert_eq!(meant.status, 201, "whoever means it says so");
    }
    let classes: Vec<String> = (0..40).map(|i| ["0", "1", "x"][i % 3].to_owned()).collect();
    assert_eq!(upload(&app, "classes", &csv(&classes)).await["target"]["kind"], "classes");
    assert_eq!(upload(&app, "small", "a,y\n1,0\n2,x\n3,0\n").await["target"]["kind"], "classes");
}

#[tokio::test]
async fn the_teacher_is_no_table() {
    let answer = App::new().get("/api/v1/data/teacher").await;
    assert_eq!(answer.status, 404);
    let detail = answer.problem()["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("`teacher` is no table"), "{detail}");
    assert!(!detail.contains("Did you mean"), "{detail}");
}

#[tokio::test]
async fn names_and_sizes_have_limits() {
    let app = App::new();
    assert_eq!(app.post("/api/v1/data/9x", "text/csv", GOOD).await.problem()["status"], 400);
    for ours in ["iris", "teacher"] {
        let path = format!("/api/v1/data/{ours}");
        assert_eq!(app.post(&path, "text/csv", GOOD).await.problem()["status"], 409);
        assert_eq!(app.delete(&path).await.problem()["status"], 409);
    }
    let big = "x".repeat((16 << 20) + 1);
    assert_eq!(app.post("/api/v1/data/big", "text/csv", big).await.problem()["status"], 413);
    let kind = app.post("/api/v1/data/t?kind=magic", "text/csv", GOOD).await;
    assert_eq!(kind.problem()["status"], 400);
}

#[tokio::test]
async fn five_megabytes_are_no_trouble() {
    let app = App::new();
    let rows: Vec<String> = (0..200_000).map(|i| format!("{i}.125,-{i}.5,{}", i % 7)).collect();
    let csv = format!("a,b,y\n{}\n", rows.join("\n"));
    assert!(csv.len() > 4 << 20, "more than a study may have");
    assert_eq!(upload(&app, "big", &csv).await["rows"], 200_000);
}

#[tokio::test]
async fn a_pinned_content_stays_at_hand() {
    let app = App::new();
    let old = upload(&app, "t", "a,y\n1,1\n2,2\n3,3\n4,4\n").await["hash"].clone();
    let new = upload(&app, "t", "a,y\n1,1\n2,2\n3,3\n4,5\n").await["hash"].clone();
    assert_ne!(old, new);
    let hash = |v: &Value| v.as_str().unwrap().to_owned();
    let newest = app.get("/api/v1/data/t").await.json();
    assert_eq!(newest["hash"], new);
    let pinned = app.get(&format!("/api/v1/data/t@{}", &hash(&old)[..8])).await.json();
    assert_eq!(pinned["hash"], old);

    let text = "mesh all:2\nlayout batch:all\nmodel mlp batch:2 in:1 hidden:4 out:1\n";
    let study = |pin: &str| format!("{text}train steps:2 data:t@{pin}\n");
    let id = app.run(json!({ "text": study(&hash(&old)[..12]) })).await;
    let run = app.over(&id).await;
    assert_eq!(run["state"], "done", "{run}");
    assert_eq!(run["data"], format!("t@{}", hash(&old)));

    let unknown = app.post_json("/api/v1/runs", json!({ "text": study("00000000") })).await;
    assert_eq!(unknown.status, 422);
    let diagnostic = unknown.problem()["diagnostics"][0].clone();
    assert_eq!((&diagnostic["code"], &diagnostic["line"]), (&json!("data"), &json!(4)));
    let mend = format!("`t@{}`", &hash(&new)[..8]);
    assert!(diagnostic["hints"][0].as_str().unwrap().contains(&mend), "{diagnostic}");
}
