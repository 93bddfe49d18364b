/* Steps with large values: a table of 20 MB, a text of 20 MB in lines and in one line, and 30,000 fields. */
const role = { description: "Returns a large value.", schema: { type: "object" } };

export const descriptor = {
  description: "Returns large values.",
  roles: { table: role, fields: role, lines: role, line: role },
};

const rows = Array.from({ length: 480_000 }, (_, n) => ({ n, name: `row ${n}`, ok: n % 2 === 0 }));
const fields = Object.fromEntries(rows.slice(0, 30_000).map(({ n, name }) => [`f${n}`, name]));
const line = "a line of a long text\n";

const values = [
  { role: "table", content: "a table", meta: { rows } },
  { role: "fields", content: "fields", meta: fields },
  { role: "lines", content: line.repeat(950_000), meta: {} },
  { role: "line", content: "word ".repeat(4_200_000), meta: {} },
];

export async function* run({ steps }) {
  yield* values.slice(steps.length);
  return { returnCode: 0, summary: "" };
}
