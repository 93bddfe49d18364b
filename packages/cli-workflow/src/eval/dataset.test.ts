import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { casesOf } from "./dataset.ts";

const folder = mkdtempSync(join(tmpdir(), "dataset-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, "set.jsonl");
const problemOf = async (text: string): Promise<string> => {
  writeFileSync(path, text);
  const error = await casesOf(path, { cwd: folder }).catch((thrown: unknown) => thrown);
  return (error as Error).message.replace(path, "set.jsonl");
};

test.each([
  ['{"prompt":"a"}\n{', '2:2: a "}" is expected, and the line ends here'],
  ['{"prompt":"a"}\r\n\r\n  {"prompt":"a" "id":1}', '3:17: a "," or the end of the object'],
  ['\uFEFF{"prompt":"a",}', "1:15: a key in double quotes is expected"],
  ['{"prompt":"a}', '1:11: a string with a closing " on the same line is expected'],
  ["x", '1:1: a value is expected, not "x"'],
  ["[]", "1:1: not a JSON object"],
  [" {}", "1:2: missing prompt"],
  ['{"prompt":1}', "1:11: prompt is not a string"],
  ['{"prompt":"a","id":1.5}', "1:20: id is neither"],
  ['{"prompt":"a","metadata":[]}', "1:26: metadata is not an object"],
  ['{"prompt":"a","expcted":1}', '1:25: unknown field "expcted"'],
  ['{"id":"2","prompt":"a"}\n{"prompt":"b"}', '2:1: id "2" is already used in line 1'],
  ['{"prompt":"a","fixture":7}', "1:25: invalid fixture"],
  ['{"prompt":"a","fixture":"none.json"}', '1:25: fixture "none.json": '],
  ['{"a":1,"a":2}', 'unknown field "a"'],
])("the data set %j is refused in one line that names the column: %s", async (text, why) => {
  const problem = await problemOf(text);
  expect(problem).toStartWith("set.jsonl:");
  expect(problem).toContain(why);
  expect(problem).toMatch(/^set\.jsonl:\d+:\d+: [^\n]+$/);
});

test("a fixture with invalid JSON is refused with its position", async () => {
  const broken = join(folder, "a.json");
  writeFileSync(broken, '{\n  "steps": [,]\n}');
  const problem = `${broken}:2:13: a value is expected`;
  expect(await problemOf('{"prompt":"a","fixture":"a.json"}')).toContain(problem);
  writeFileSync(path, '{"id":"a","prompt":"a"}');
  const error = casesOf(path, { cwd: folder, fixtures: "." });
  expect(((await error.catch((thrown: unknown) => thrown)) as Error).message).toStartWith(problem);
});
