//! Clicks on a study: what each edit does to the text, and that it leaves the rest alone.

use meshwork_engine::diag::{Span, TextEdit};
use meshwork_engine::spec::edit::{
    apply, rename_mesh_dim, set_mesh, set_option, set_rule, set_size,
};

fn mesh(dims: &[(&str, u64)]) -> Vec<(String, u64)> {
    dims.iter().map(|&(name, size)| (name.to_owned(), size)).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

#[track_caller]
fn check_mesh(text: &str, dims: &[(&str, u64)], after: &str) {
    assert_eq!(set_mesh(text, &mesh(dims)), after);
}

#[track_caller]
fn check_rule(text: &str, dim: &str, mesh_dims: &[&str], after: &str) {
    assert_eq!(set_rule(text, dim, &names(mesh_dims)), after);
}

#[test]
fn apply_is_order_independent_and_careful() {
    let edit = |start, end, put: &str| TextEdit {
        span: Span::new(start, end),
        replacement: put.to_owned(),
    };
    let text = "mesh é:2";
    assert_eq!(apply(text, &[edit(8, 9, "4"), edit(5, 7, "rows")]), "mesh rows:4");
    assert_eq!(apply(text, &[edit(6, 7, "x"), edit(90, 91, "x"), edit(9, 8, "x")]), text);
    assert_eq!(apply(text, &[edit(0, 4, "a"), edit(2, 5, "b")]), "a é:2");
    assert_eq!(apply(text, &[edit(9, 9, " a:1"), edit(9, 9, " b:1")]), "mesh é:2 a:1 b:1");
}

#[test]
fn set_mesh_in_place() {
    let text = "# why\nmesh   rows:2, cols:4 # four\nlayout a:rows\n";
    check_mesh(text, &[("rows", 2), ("cols", 4)], text);
    let after = "# why\nmesh   rows:8, cols:4 # four\nlayout a:rows\n";
    check_mesh(text, &[("rows", 8), ("cols", 4)], after);
    let after = "# why\nmesh   rows:2, cols:4 planes:2 # four\nlayout a:rows\n";
    check_mesh(text, &[("rows", 2), ("cols", 4), ("planes", 2)], after);
    check_mesh(text, &[("rows", 2)], "# why\nmesh   rows:2 # four\nlayout a:rows\n");
    check_mesh(text, &[("cols", 4)], "# why\nmesh   cols:4 # four\nlayout a:rows\n");
    check_mesh(text, &[], "# why\nmesh # four\nlayout a:rows\n");
    check_mesh(text, &[("x y", 2)], "# why\nmesh   `x y`:2 # four\nlayout a:rows\n");
    let after = "# why\nmesh   cols:4 rows:2 # four\nlayout a:rows\n";
    check_mesh(text, &[("cols", 4), ("rows", 2)], after);
    let after = "# why\nmesh   cols:4 planes:3 # four\nlayout a:rows\n";
    check_mesh(text, &[("cols", 4), ("planes", 3)], after);
}

#[test]
fn set_mesh_on_several_lines() {
    let text = "mesh a:1 b:2\nlayout\nmesh c:3\n";
    check_mesh(text, &[("a", 1), ("b", 5), ("c", 6)], "mesh a:1 b:5\nlayout\nmesh c:6\n");
    check_mesh(text, &[("a", 1)], "mesh a:1\nlayout\nmesh\n");
    check_mesh(text, &[("c", 3)], "mesh\nlayout\nmesh c:3\n");
    check_mesh(text, &[("c", 3), ("a", 1)], "mesh c:3 a:1\nlayout\nmesh\n");
}

#[test]
fn set_mesh_without_one() {
    check_mesh("", &[("a", 1)], "mesh a:1\n");
    check_mesh("# hello", &[("a", 1)], "# hello\nmesh a:1\n");
    check_mesh("# hello\n\nmodel mlp\n", &[("a", 1)], "# hello\n\nmesh a:1\nmodel mlp\n");
    check_mesh("# hello\r\nmodel mlp\r\n", &[("a", 1)], "# hello\r\nmesh a:1\r\nmodel mlp\r\n");
    check_mesh("model mlp\n", &[], "model mlp\n");
    check_mesh("mesh\n", &[("a", 1)], "mesh a:1\n");
    check_mesh("mesh # none\n", &[("a", 1)], "mesh a:1 # none\n");
    check_mesh("mesh = x\n", &[("a", 1)], "mesh a:1\nmesh = x\n");
}

#[test]
fn set_mesh_mends_broken_lines() {
    check_mesh("mesh rows:2 cols:x # c\n", &[("rows", 2), ("cols", 4)], "mesh rows:2 cols:4 # c\n");
    check_mesh("mesh rows=2\n", &[("rows", 2)], "mesh rows:2\n");
    check_mesh("mesh `\n", &[("rows", 2)], "mesh rows:2\n");
    check_mesh("mesh rows:2 rows:2\n", &[("rows", 2)], "mesh rows:2\n");
}

#[test]
fn set_mesh_refuses_what_cannot_be_written() {
    for dims in [&[("", 1)], &[("a`b", 1)], &[("a\nb", 1)], &[("a", 0)], &[("a", 1 << 41)]] {
        check_mesh("mesh x:1\n", dims, "mesh x:1\n");
    }
}

#[test]
fn rename_mesh_dims() {
    let text = "mesh rows:2;cols:2 # rows\nlayout rows:rows,b:cols+rows\npipeline over:rows\n";
    assert_eq!(
        rename_mesh_dim(text, "rows", "y"),
        "mesh y:2;cols:2 # rows\nlayout rows:y,b:cols+y\npipeline over:y\n"
    );
    assert_eq!(
        rename_mesh_dim(text, "rows", "a b"),
        "mesh `a b`:2;cols:2 # rows\nlayout rows:`a b`,b:cols+`a b`\npipeline over:`a b`\n"
    );
    for new in ["cols", "rows", "", "a`"] {
        assert_eq!(rename_mesh_dim(text, "rows", new), text);
    }
    assert_eq!(rename_mesh_dim(text, "nobody", "x"), text);
}

#[test]
fn set_rules() {
    let text = "mesh rows:2 cols:2\nlayout  batch:rows;hidden:cols # x\nmodel mlp\n";
    let with = |layout: &str| format!("mesh rows:2 cols:2\n{layout} # x\nmodel mlp\n");
    check_rule(text, "batch", &["rows"], text);
    check_rule(text, "batch", &["cols"], &with("layout  batch:cols;hidden:cols"));
    let after = with("layout  batch:rows+cols;hidden:cols");
    check_rule(text, "batch", &["rows", "cols"], &after);
    check_rule(text, "batch", &[], &with("layout  hidden:cols"));
    check_rule(text, "hidden", &[], &with("layout  batch:rows"));
    check_rule(text, "io", &["cols"], &with("layout  batch:rows;hidden:cols io:cols"));
    check_rule(text, "d-model", &["cols"], &with("layout  batch:rows;hidden:cols `d-model`:cols"));
    check_rule(text, "io", &[], text);
    check_rule("layout batch:rows # x\n", "batch", &[], "layout # x\n");
    check_rule("layout\n", "batch", &["rows"], "layout batch:rows\n");
    check_rule("mesh a:2\nmodel mlp", "b", &["a"], "mesh a:2\nlayout b:a\nmodel mlp");
    check_rule("# c\nmodel mlp\n", "b", &["a"], "# c\nlayout b:a\nmodel mlp\n");
    check_rule("", "b", &["a"], "layout b:a\n");
}

#[test]
fn set_rules_that_stand_several_times() {
    check_rule("layout b:x b:y c:z\nlayout b:x\n", "b", &["y"], "layout b:y c:z\nlayout\n");
    check_rule("layout b:x b:y c:z\nlayout b:x\n", "b", &[], "layout c:z\nlayout\n");
    check_rule("layout b:x b:y\n", "b", &[], "layout\n");
    check_rule("layout b:x\nlayout c:y\n", "c", &["x"], "layout b:x\nlayout c:x\n");
    check_rule("layout b:x oops b:y\n", "b", &[], "layout oops\n");
}

#[test]
fn removing_a_pair_makes_no_new_one() {
    check_rule("layout b: b:x c\n", "b", &[], "layout b:, c\n");
    check_rule("layout b:x = c\n", "b", &[], "layout ,= c\n");
    check_rule("layout c b:x :d\n", "b", &[], "layout c, :d\n");
    let after = set_option("train rate: rate:1 2\n", "train", "rate", "");
    assert_eq!(after, "train rate:, 2\n");
}

#[test]
fn set_sizes() {
    let check = |text: &str, dim, size, after: &str| assert_eq!(set_size(text, dim, size), after);
    check("dims  batch:8, io:4 # c\n", "io", 16, "dims  batch:8, io:16 # c\n");
    check("dims batch:8\n", "io", 16, "dims batch:8 io:16\n");
    check("dims batch:x # c\n", "batch", 16, "dims batch:16 # c\n");
    check("dims io:4 batch:0\n", "batch", 16, "dims io:4 batch:16\n");
    check("dims io:4 batch\n", "batch", 16, "dims io:4 batch:16\n");
    check("model two_layer batch:8 # c\n", "batch", 16, "model two_layer batch:16 # c\n");
    check("model two_layer # c\n", "io", 16, "model two_layer io:16 # c\n");
    check("model two_layer batch:8\n", "io", 16, "model two_layer batch:8 io:16\n");
    check("model mlp hidden:(64 32)\n", "hidden2", 16, "model mlp hidden:(64 16)\n");
    check("model mlp hidden:(64 32)\n", "hidden3", 16, "model mlp hidden:(64 32) hidden3:16\n");
    check("model mlp depth:3 hidden:8 out:1\n", "hidden1", 16, "model mlp hidden:(16 8 8) out:1\n");
    check("model mlp hidden:8 depth:3\n", "hidden1", 8, "model mlp hidden:8 depth:3\n");
    check("model mlp depth:3 out:1\n", "hidden1", 8, "model mlp depth:3 hidden:8 out:1\n");
    check("mesh a:2\ninput x[b]\n", "b", 16, "mesh a:2\ndims b:16\ninput x[b]\n");
    check("mesh a:2\n", "b", 0, "mesh a:2\n");
    check("mesh a:2\n", "b`", 1, "mesh a:2\n");
}

#[test]
fn set_options() {
    let check = |text: &str, statement, key, value, after: &str| {
        assert_eq!(set_option(text, statement, key, value), after);
    };
    let text = "train  rate:0.1, steps:5 # c\n";
    check(text, "train", "rate", "0.2", "train  rate:0.2, steps:5 # c\n");
    check(text, "train", "seed", "1", "train  rate:0.1, steps:5 seed:1 # c\n");
    check(text, "train", "rate", "", "train  steps:5 # c\n");
    check(text, "train", "steps", "", "train  rate:0.1 # c\n");
    check(text, "train", "data", "my data", "train  rate:0.1, steps:5 data:`my data` # c\n");
    check(text, "train", "data", "a#b", "train  rate:0.1, steps:5 data:`a#b` # c\n");
    check(text, "train", "a", "(64 32)", "train  rate:0.1, steps:5 a:(64 32) # c\n");
    check(text, "train", "a", "x`", text);
    check(text, "train", "a", "", text);
    check("train data:a. rate:1", "train", "rate", "", "train data:a.");
    check("train rate:1", "train", "rate", "", "train");
    check("train", "train", "rate", "1", "train rate:1");
    check("mesh a:2\n\n# end\n", "train", "rate", "1", "mesh a:2\ntrain rate:1\n\n# end\n");
    check("mesh a:2", "train", "rate", "1", "mesh a:2\ntrain rate:1");
    check("", "hardware", "flops", "1e12", "hardware flops:1e12\n");
    check("hardware tpu-v2\n", "hardware", "flops", "1e12", "hardware tpu-v2 flops:1e12\n");
    check("model mlp\n", "model", "loss", "mse", "model mlp loss:mse\n");
    check("mesh a:2\n", "model", "loss", "mse", "mesh a:2\n");
    check("mesh a:2\n", "mesh", "b", "2", "mesh a:2\n");
}
