import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkflowDocument } from "../../src/document/format.ts";
import { stepsBundle } from "../../src/entry/index.ts";

const mark = (of: string, value: unknown) => ({ tool: "Mark", in: { of, value } });

const child: WorkflowDocument = {
  version: "3.18",
  name: "child",
  registry: { params: ["list(ARRAY) = [1, 2, 3]"], vars: ["$sum(INT) = 0"] },
  steps: [
    { id: "Loop_Child", source: "=list", children: ["Tool_Child"], next: "RETURN" },
    {
      id: "Tool_Child",
      ...mark("child", "=_item"),
      out: { $sum: "=$sum + _result" },
      next: "RETURN",
    },
  ],
};

const list = Array.from({ length: 100 }, (_, at) => at);

/**
 * A workflow that runs a loop of 100 iterations for the prompt `loop`, otherwise one of each construct. Each call
 * appends a line to a file.
 */
const document: WorkflowDocument = {
  version: "3.18",
  name: "marking",
  registry: {
    params: [
      "prompt(STRING)",
      `list(ARRAY) = ${JSON.stringify(list)}`,
      "few(ARRAY) = [1, 2, 3, 4]",
    ],
    vars: ["$sum(INT) = 0", "$each(ARRAY)", "$left(INT) = 0", "$child(OBJECT)", "$ways(ARRAY)"],
  },
  steps: [
    {
      id: "Branch_Which",
      cases: [
        ["prompt == 'loop'", "Loop_Hundred"],
        ["ELSE", "Fork_All"],
      ],
      next: "RETURN",
    },
    { id: "Loop_Hundred", source: "=list", children: ["Tool_Hundred"], next: "RETURN" },
    {
      id: "Tool_Hundred",
      ...mark("hundred", "=_item"),
      out: { $sum: "=$sum + _result" },
      next: "RETURN",
    },
    {
      id: "Fork_All",
      children: ["Loop_Parallel", "Loop_Serial", "Subflow_Child"],
      next: "Tool_Last",
    },
    {
      id: "Loop_Parallel",
      source: "=few",
      mode: "parallel",
      children: ["Tool_Each"],
      next: "RETURN",
    },
    {
      id: "Tool_Each",
      ...mark("each", "=_item"),
      out: { "$each[_index]": "=_result" },
      next: "RETURN",
    },
    { id: "Loop_Serial", source: "=few", children: ["Branch_Odd"], next: "RETURN" },
    {
      id: "Branch_Odd",
      cases: [
        ["_index == 1 || _index == 3", "Tool_Odd"],
        ["ELSE", "Set_Even"],
      ],
      next: "Tool_Left",
    },
    {
      id: "Tool_Odd",
      ...mark("odd", "=_item"),
      out: { "$ways[_index]": "=_result" },
      next: "RETURN",
    },
    { id: "Set_Even", target: "$ways[_index]", value: "even", next: "RETURN" },
    {
      id: "Tool_Left",
      ...mark("left", "=_item"),
      out: { $left: "=$left + _result" },
      next: "RETURN",
    },
    {
      id: "Subflow_Child",
      in: { workflow_path: "child.json" },
      out: { $child: "=_result.variables" },
      next: "RETURN",
    },
    { id: "Tool_Last", ...mark("last", 0), out: { $sum: "=$left + $child.$sum" }, next: "RETURN" },
  ],
};

/** The iteration at which the loop waits for the file `go`. */
const held = 60;

export const { run, descriptor } = stepsBundle(document, {
  subflows: { "child.json": child },
  adapters: ({ cwd = "." }) => ({
    tool: {
      async execute(_name, input) {
        const { of, value } = input as { of: string; value: number };
        const isHeld = of === "hundred" && value === held;
        if (isHeld) writeFileSync(join(cwd, "held"), "");
        do await new Promise((resolve) => setTimeout(resolve, of === "hundred" ? 0 : 10));
        while (isHeld && !existsSync(join(cwd, "go")));
        appendFileSync(join(cwd, "lines"), `${of} ${value}\n`);
        return { result: value };
      },
    },
  }),
});
