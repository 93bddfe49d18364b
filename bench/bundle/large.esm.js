/* Steps with values as large as a role may return: a table, 30,000 fields, and texts. */
export const descriptor = {
  description: "Returns large values.",
  roles: { worker: { description: "Returns large values.", schema: { type: "object" } } },
};

const rows = Array.from({ length: 30_000 }, (_, n) => ({ n, name: `row ${n}`, ok: n % 2 === 0 }));
const fields = Object.fromEntries(rows.map(({ n, name }) => [`field${n}`, name]));

const values = [
  { content: "a table", meta: { rows } },
  { content: "fields", meta: fields },
  { content: JSON.stringify(rows), meta: {} },
  { content: "a line of a long text\n".repeat(100_000), meta: {} },
];

export async function* run({ steps }) {
  for (const value of values.slice(steps.length)) yield { role: "worker", ...value };
  return { returnCode: 0, summary: "" };
}
