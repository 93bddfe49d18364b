/** Two steps that count, and a text that is long. */
export const sum = {
  version: "3.18",
  name: "Sum",
  registry: {
    params: ["by(INT) = 10"],
    vars: [
      "$a(INT) = 1",
      "$sum(INT) = 0",
      `$long(STRING) = ${JSON.stringify("wide ".repeat(4_000))}`,
    ],
  },
  steps: [
    { id: "Set_A", target: "$a", value: 2, next: "Set_Sum" },
    { id: "Set_Sum", target: "$sum", value: "=$a + by", onError: "Set_Never", next: "Stop_End" },
    { id: "Set_Never", target: "$sum", value: 0, next: "Stop_End" },
    { id: "Stop_End", reason: "='the sum is ' + $sum" },
  ],
};

/** Three iterations of a loop. */
export const iterations = {
  version: "3.18",
  name: "Rounds",
  registry: { vars: ['$items(ARRAY) = ["a", "b", "c"]', "$out(ARRAY) = []", '$end(STRING) = "!"'] },
  steps: [
    { id: "Loop_Items", source: "=$items", children: ["Set_Out"], next: "Stop_End" },
    { id: "Set_Out", target: "$out[_index]", value: "=_item + $end", next: "RETURN" },
    { id: "Stop_End", reason: "='it is ' + $out" },
  ],
};

/** Fails in the second iteration. */
export const failing = {
  version: "3.18",
  name: "Failing",
  registry: { vars: ["$by(INT) = 1", "$out(ARRAY) = []"] },
  steps: [
    { id: "Loop_Items", source: [4, 6], children: ["Set_Out"], next: "Stop_End" },
    { id: "Set_Out", target: "$out[_index]", value: "=_item / $by", next: "Set_By" },
    { id: "Set_By", target: "$by", value: "=$by - 1", next: "RETURN" },
    { id: "Stop_End", reason: "='it is ' + $out" },
  ],
};

/** A workflow that another runs. */
export const child = {
  version: "3.18",
  name: "Child",
  registry: { vars: ['$word(STRING) = "own"'] },
  steps: [{ id: "Set_Word", target: "$word", value: "=$word + ' word'", next: "RETURN" }],
};

/** Runs `child.json` of its folder. */
export const parent = {
  version: "3.18",
  name: "Parent",
  registry: { vars: ['$path(STRING) = "child.json"', "$got(STRING)"] },
  steps: [
    {
      id: "Subflow_Child",
      in: { workflow_path: "=$path" },
      out: { $got: "=_result.variables.$word" },
      next: "Stop_End",
    },
    { id: "Stop_End", reason: "='it got ' + $got" },
  ],
};
