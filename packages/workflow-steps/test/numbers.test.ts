import { expect, test } from "bun:test";
import { apiAdapter } from "../src/entry/adapters.ts";
import { Engine, type StepDocument } from "../src/entry/index.ts";
import { flow, ran } from "./ran.ts";

const long = "9007199254740993";
const vars = ["$o(OBJECT)", "$s(STRING)"];
const set = (value: unknown): StepDocument[] => [
  { id: "Set_A", target: "$s", value, next: "RETURN" },
];

test("an integer in an API's answer that a number would round is read as text", async () => {
  const server = Bun.serve({
    port: 0,
    fetch: () =>
      new Response(`{"id":${long},"n":7}`, { headers: { "content-type": "application/json" } }),
  });
  const document = flow(
    [{ id: "API_u", out: { $o: "=_result", $s: "=_result.id + ''" }, next: "RETURN" }],
    {
      vars,
      apis: [{ id: "u", url: String(server.url) }],
    },
  );
  const { variables } = await ran(document, { adapters: { api: apiAdapter() } });
  await server.stop(true);
  expect(variables).toEqual({ $o: { id: long, n: 7 }, $s: long });
});

test("an expression refuses numbers it would round, and joins and compares texts of digits", async () => {
  const problem = new Engine(flow(set(`=${long}`), { vars })).validate();
  expect(problem).toEqual([expect.stringContaining(`the number ${long} can't be kept exactly`)]);
  const run = (value: string) =>
    ran(flow(set(value), { params: ["id(STRING)"], vars }), { params: { id: long } });
  expect((await run("=id * 1")).status).toBe("failed");
  expect((await run("='#' + id")).variables.$s).toBe(`#${long}`);
  expect((await run(`=id == '${long}' && 'same'`)).variables.$s).toBe("same");
});

test("a default that would be rounded is refused", () => {
  const errors = new Engine(flow(set("x"), { vars: [...vars, `$n(INT) = ${long}`] })).validate();
  expect(errors.join()).toContain(`the number ${long} can't be kept exactly`);
});
