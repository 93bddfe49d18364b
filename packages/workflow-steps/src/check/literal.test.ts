import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chain, workflow } from "../../test/faulty.ts";
import { validate } from "./check.ts";

const registry = { params: ["goal(STRING) = a", "n(INT) = 1"], vars: ["$x(STRING)", "$m(OBJECT)"] };

const warningsOf = (value: unknown, field: Record<string, unknown> = { value }): string[] =>
  validate({ ...workflow(chain({ id: "Set_A", target: "$x", ...field })), registry }).flatMap(
    ({ message, path }) => (path.includes("id") || path.length < 3 ? [] : [message]),
  );

test.each([
  ["{{goal}}", "{{goal}} stays as it is; write =goal"],
  ["{{ x }}", "{{ x }} stays as it is; write =$x"],
  ["Do {{goal}}, now", '{{goal}} stays as it is; write ="Do " + goal + ", now"'],
  ["{{n}}{{n}}", '{{n}} stays as it is; write ="" + n + n'],
  ["${goal}", "${goal} stays as it is; write =goal"],
  ["Hello ${m.user.name}!", '${m.user.name} stays as it is; write ="Hello " + $m.user.name + "!"'],
  ["{{ticket.id}}", "{{ticket.id}} stays as it is; write =ticket.id"],
  ["{{_item.a[0]}}", "{{_item.a[0]}} stays as it is; write =_item.a[0]"],
  ["{{ goal | upper }}", "{{ goal | upper }} stays as it is; write =goal"],
  [" =goal", "the space before = makes this plain text; write =goal"],
  ["\n=n + 1", "the space before = makes this plain text; write =n + 1"],
  [`${"long ".repeat(30)}{{goal}}`, '{{goal}} stays as it is; write an expression: ="…" + goal'],
])("%j has a warning with the correct spelling", (text, advice) => {
  expect(warningsOf(text)).toEqual([`Set_A: value: ${advice}`]);
});

test.each([
  "=goal",
  "==goal",
  " == goal",
  "=`{{goal}}`.length",
  "in ${HOME}",
  "${PATH}:/bin",
  "{{.Names}}",
  "{{#each rows}}",
  "${{ github.ref }}",
  "{goal}",
  "{{}}",
  "a {{ b c }}",
  " => goal",
  "$goal",
])("%j has no warning", (text) => {
  expect(warningsOf(text).filter((one) => /stays|space before/.test(one))).toEqual([]);
});

test("code and file texts may contain placeholders of other languages, but not names of the document in braces", () => {
  const call = (input: object) =>
    validate({
      ...workflow(chain({ id: "Tool_runCommand", input })),
      registry,
    }).map(({ message }) => message);
  const shell = { argv: ["sh", "-c", "for f in *; do echo ${f} ${goal} {{name}}; done"] };
  expect(call(shell).join()).not.toContain("stays");
  const whole = call({ argv: ["echo", "${goal}", "of ${$x}", "${other}"] });
  expect(whole.filter((one) => one.includes("stays"))).toEqual([
    "Tool_runCommand: input.argv[1]: ${goal} stays as it is; write =goal",
    'Tool_runCommand: input.argv[2]: ${$x} stays as it is; write ="of " + $x',
  ]);
  expect(call({ argv: ["echo", "{{goal}}"] })).toContain(
    "Tool_runCommand: input.argv[1]: {{goal}} stays as it is; write =goal",
  );
});

test("the example workflows have no such warning", () => {
  const folder = join(import.meta.dir, "../../../../examples");
  const files = readdirSync(folder, { recursive: true }).map(String);
  const documents = files.filter((file) => /(^|\/)(steps\/.*|flow)\.json$/.test(file));
  expect(documents.length).toBeGreaterThan(8);
  for (const file of documents) {
    const found = validate(JSON.parse(readFileSync(join(folder, file), "utf8")));
    expect(found.filter(({ message }) => /stays|space before/.test(message))).toEqual([]);
  }
});
