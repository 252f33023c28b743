//! The studies of the examples menu: the layouts of the Mesh-TensorFlow paper, language models,
//! pipelines, experts and pictures cut into tiles, and four on real data.
//!
//! Each starts with a comment that says what to look for, and each can be trained as it stands.

/// A study to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// Its stable name, as in an address.
    pub id: &'static str,
    /// What the menu says.
    pub title: &'static str,
    /// One sentence about it.
    pub about: &'static str,
    /// The study.
    pub text: &'static str,
}

/// The example with this name.
pub fn find(id: &str) -> Option<&'static Example> {
    ALL.iter().find(|e| e.id == id)
}

/// Every example, in the order of the menu.
pub const ALL: &[Example] = &[
    Example {
        id: "empty",
        title: "Empty layout",
        about: "Without rules every processor holds every tensor whole and does all the work.",
        text: "\
# The empty layout: both processors hold every tensor whole and do the same work twice.
# Look for: no collectives, and as many flops per processor as on one.
mesh all:2
layout
model two_layer batch:8 io:4 hidden:8
train optimizer:sgd rate:0.1 steps:100
",
    },
    Example {
        id: "figure-2",
        title: "Figure 2: data parallel",
        about: "The batch is split over all processors; the parameters are whole on each.",
        text: "\
# Figure 2: data parallelism, the batch is split over all processors.
# Look for: w, bias and v whole everywhere; one Allreduce sums their gradients over the batch.
mesh all:2
layout batch:all
model two_layer batch:8 io:4 hidden:8
train optimizer:sgd rate:0.1 steps:100
",
    },
    Example {
        id: "figure-3",
        title: "Figure 3: model parallel",
        about: "The hidden layer is split over all processors; the batch is whole on each.",
        text: "\
# Figure 3: model parallelism, the hidden layer is split over all processors.
# Look for: w, bias, h and v in halves; y is summed over hidden by an Allreduce.
mesh all:2
layout hidden:all
model two_layer batch:8 io:4 hidden:8
train optimizer:sgd rate:0.1 steps:100
",
    },
    Example {
        id: "figure-4",
        title: "Figure 4: data and model parallel",
        about: "The batch is split over the rows of a mesh, the hidden layer over its columns.",
        text: "\
# Figure 4: data parallel by rows, model parallel by columns.
# Look for: h in quarters, one for each processor; every other tensor in halves, held twice.
mesh rows:2 cols:2
layout batch:rows hidden:cols
model two_layer batch:8 io:4 hidden:8
train optimizer:sgd rate:0.1 steps:100
",
    },
    Example {
        id: "figure-5",
        title: "Figure 5: three mesh dimensions",
        about: "Batch, hidden and io are each split over a mesh dimension of their own.",
        text: "\
# Figure 5: batch by rows, hidden by columns, io by planes, on a cube of eight processors.
# Look for: every matrix in quarters; each product sums over a dimension that is split.
mesh rows:2 cols:2 planes:2
layout batch:rows hidden:cols io:planes
model two_layer batch:8 io:4 hidden:8
train optimizer:sgd rate:0.1 steps:100
",
    },
    Example {
        id: "illegal",
        title: "An illegal layout",
        about: "Two dimensions of one tensor cannot be split over the same mesh dimension.",
        text: "\
# Illegal: h has both batch and hidden, and both are sent to the mesh dimension all.
# Look for: the error at the layout and its mends; each processor would hold a diagonal block.
mesh all:2
layout batch:all hidden:all
model two_layer batch:8 io:4 hidden:8
train optimizer:sgd rate:0.1 steps:100
",
    },
    Example {
        id: "written-out",
        title: "A model written out",
        about: "The network of Figure 4 as formulas over named dimensions, to be changed at will.",
        text: "\
# The model of Figure 4 written out: change a formula and see what it costs.
# Look for: einsum keeps the dimensions after the arrow and sums over the others.
mesh rows:2 cols:2
layout batch:rows hidden:cols

dims batch:8 io:4 hidden:8
input x[batch io], target[batch io]
param w[io hidden], bias[hidden], v[hidden io]
h = relu(einsum(x, w -> batch hidden) + bias)
y = einsum(h, v -> batch io)
loss = mean(square(y - target))

train optimizer:momentum rate:0.1 steps:100
",
    },
    Example {
        id: "language-model",
        title: "Language model: data parallel",
        about: "A small Transformer that guesses the next token, its batch split over all processors.",
        text: "\
# A decoder language model, data parallel: each processor has its own sequences.
# Look for: no message before the loss, then an Allreduce of every parameter's gradient.
mesh all:4
layout batch:all
model transformer batch:8 length:16 vocab:32 d_model:16 heads:4 d_ff:64 layers:2
train optimizer:adam rate:0.01 steps:100 seed:1
",
    },
    Example {
        id: "language-model-paper",
        title: "Language model: the paper's layout",
        about: "Batch by rows; vocabulary, heads and hidden units by columns, as in the paper.",
        text: "\
# The layout of the paper's large Transformers: batch by rows; vocab, heads and d_ff by columns.
# Look for: two Allreduces per layer over cols in the forward pass, and none of the logits.
mesh rows:2 cols:2
layout batch:rows vocab:cols d_ff:cols heads:cols
model transformer batch:8 length:16 vocab:32 d_model:16 heads:4 d_ff:64 layers:2
train optimizer:adam rate:0.01 steps:100 seed:1
",
    },
    Example {
        id: "megatron",
        title: "Megatron: tensor and sequence parallel",
        about: "Matrices split by columns, then rows; between the layers the sequence is split.",
        text: "\
# Megatron's tensor parallelism; between the layers, where nothing has heads, the sequence is split.
# Look for: an Allgather into each layer, a Reducescatter out. Try it without length:cols.
mesh cols:4
layout vocab:cols heads:cols d_ff:cols length:cols
model transformer batch:4 length:16 vocab:32 d_model:16 heads:4 layers:2 norm:layer ffn:gelu bias:on sequence_parallel:on
train optimizer:adam rate:0.01 steps:100 seed:1
",
    },
    Example {
        id: "gpipe",
        title: "Pipeline: GPipe on four cells",
        about: "Layers on four cells, the batch in micro-batches, activations computed again.",
        text: "\
# GPipe: the layers on four cells of two processors each, the batch in eight micro-batches.
# Look for: the bubble, (K−1)/(M+K−1) of even stages. Twice the micro-batches shrink it.
mesh stages:4 rows:2
layout batch:rows
model mlp batch:64 in:32 hidden:32 depth:11 out:32
train optimizer:adam rate:0.003 steps:100 seed:1 dtype:f64
pipeline over:stages micro_batches:8 schedule:gpipe remat:on
",
    },
    Example {
        id: "one-f-one-b",
        title: "Pipeline: one forward, one backward",
        about: "A Transformer whose cells are tensor parallel, under the schedule 1F1B.",
        text: "\
# 1F1B takes GPipe's time, but lets go of activations as soon as it can.
# Look for: the last cells hold least. zb_h1 fills the bubble; gpipe holds every micro-batch.
mesh stages:4 cols:2
layout vocab:cols heads:cols d_ff:cols
model transformer batch:16 length:8 vocab:32 d_model:16 heads:4 d_ff:64 layers:8
train optimizer:adam rate:0.003 steps:50 seed:1 dtype:f64
pipeline over:stages micro_batches:8 schedule:1f1b
",
    },
    Example {
        id: "experts",
        title: "Mixture of experts: expert parallel",
        about: "Each processor has its own sequences and its own experts; tokens travel between them.",
        text: "\
# Tokens are split by batch, experts over the same processors: each token goes to two experts.
# Look for: an Alltoall there and one back in every layer, forward and backward.
mesh all:4
layout batch:all experts:all
model transformer batch:8 length:16 vocab:32 d_model:16 heads:4 layers:2 experts:4 expert_hidden:32 gating:top2
train optimizer:adam rate:0.01 steps:100 seed:1
",
    },
    Example {
        id: "convnet",
        title: "Convolutions: pictures cut into tiles",
        about: "Rows and columns of every picture are split; neighbours exchange their edges.",
        text: "\
# Each processor has a quarter of every picture and all filters.
# Look for: Receives of the neighbours' edges before each convolution, one row or column wide.
mesh rows:2 cols:2
layout h:rows w:cols
model convnet batch:16 h:8 w:8 in:1 channels:(8 8) kernel:3 classes:4
train optimizer:adam rate:0.01 steps:100 seed:1
",
    },
    Example {
        id: "iris",
        title: "Iris: a classifier on real data",
        about: "Three kinds of iris told apart by four measurements, on a mesh of four processors.",
        text: "\
# Three kinds of iris from four measurements; the accuracy counts flowers not trained on.
# Look for: the same loss curve under every layout. Try hidden:rows batch:cols.
mesh rows:2 cols:2
layout batch:rows hidden:cols
model mlp batch:30 in:4 hidden:16 out:3 activation:relu loss:cross_entropy
train optimizer:adam rate:0.01 steps:200 seed:1 data:iris
",
    },
    Example {
        id: "diabetes",
        title: "Diabetes: a number from real data",
        about: "The progress of a disease predicted from ten measurements, with two hidden layers.",
        text: "\
# How diabetes progresses within a year, from ten measurements; two hidden layers.
# Look for: hidden1 is split and hidden2 is not; a matrix that has both cannot split both by cols.
mesh rows:2 cols:2
layout batch:rows hidden1:cols
model mlp batch:32 in:10 hidden:(32 16) out:1 activation:tanh loss:mse
train optimizer:adam rate:0.01 steps:200 seed:1 data:diabetes
",
    },
    Example {
        id: "sources",
        title: "A language model on real text",
        about: "Meshwork's own sources, byte by byte; sample what the model writes when it is done.",
        text: "\
# A language model reads Meshwork's own sources, byte by byte.
# Look for: perplexity on the text held out; a box to sample the model when the run is done.
mesh rows:2 cols:2
layout batch:rows vocab:cols d_ff:cols heads:cols
model transformer batch:8 length:32 vocab:256 d_model:32 heads:4 layers:2
train optimizer:adam rate:0.005 warmup:20 steps:200 seed:1 data:sources tokens:bytes
",
    },
    Example {
        id: "translation",
        title: "Translation: numbers into English",
        about: "An encoder and a decoder turn 347 into three hundred and forty-seven.",
        text: "\
# Pairs of numbers and their names: an encoder reads the digits, a decoder writes the words.
# Look for: BLEU on the pairs held out; a box to translate numbers when the run is done.
mesh all:2
layout batch:all
model encoder_decoder batch:16 source_length:6 length:48 vocab:256 d_model:32 heads:4 layers:1
train optimizer:adam rate:0.005 warmup:20 steps:300 seed:1 data:numerals
",
    },
];
