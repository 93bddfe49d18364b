import { expect, test } from "bun:test";
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import { rules } from "./rules.ts";
import { sourceText } from "./source-text.ts";

const plugins = [
  { pluginId: "markdown", plugin: markdown },
  { pluginId: "source", plugin: sourceText },
];

async function found(text: string, ext: string): Promise<string[]> {
  const { messages } = await new TextlintKernel().lintText(text, { ext, plugins, rules });
  return messages.map(({ loc, ruleId }) => `${loc.start.line}:${loc.start.column} ${ruleId}`);
}

test.each([
  [
    "Who finds nobody listening asks again.",
    "1:1 clause-as-subject",
    "Clients retry while the socket is missing.",
  ],
  [
    "The lock is given to who asks first.",
    "1:19 clause-as-noun",
    "The first client takes the lock.",
  ],
  ["Nobody needs to foresee an id.", "1:1 no-person", "Ids need not be unpredictable."],
  [
    "Records are kept, but those that expired go.",
    "1:23 those-that",
    "Expired records are deleted.",
  ],
  ["This is no JSON.", "1:6 is-no", "This is not JSON, and there is no other file."],
  ["It does not poll any more.", "1:18 history", "It does not poll, and no longer waits."],
  ["The server is started anew.", "1:23 archaic", "The server is restarted. What now? Restart it."],
])("%p has the fault %p; %p has none", async (before, fault, after) => {
  expect((await found(before, ".md"))[0]).toBe(fault);
  expect(await found(after, ".md")).toEqual([]);
});

test("checks comments and string literals of a source, and no code", async () => {
  const source = [
    "// Nobody waits.",
    "/**",
    " * What it returns. `nobody`",
    " */",
    "export const nobody = (x: string) => `run/${x} is no lock file`;",
    'export const one = "nobody"; // oxlint-disable-line',
    'export const two = "nobody answers here";',
  ].join("\n");
  expect(await found(source, ".ts")).toEqual([
    "1:4 no-person",
    "3:4 clause-as-subject",
    "5:48 is-no",
    "7:21 no-person",
  ]);
});
