import { describe, expect, test } from "bun:test";
import { carryOut } from "../../test/calling.ts";

describe("a service", () => {
  const calls: unknown[][] = [];
  const service = (answer: unknown) => ({
    service: { call: async (...given: unknown[]) => (calls.push(given), answer) },
  });

  test("is called by name with the step's inputs", async () => {
    const { signal } = new AbortController();
    const registry = { services: ["Users(id(INT)) RETURN user(OBJECT)"] };
    const around = { inputs: { id: 1 }, registry, signal };
    await carryOut({ id: "Service_Users" }, service(null), around);
    await carryOut({ id: "Service_010_Users" }, service(null), around);
    expect(calls).toEqual([
      ["Users", { id: 1 }, { signal, runID: "wf_1", stepID: "Service_Users" }],
      ["Users", { id: 1 }, { signal, runID: "wf_1", stepID: "Service_010_Users" }],
    ]);
  });

  test("is called with the digits of its name", async () => {
    calls.length = 0;
    const registry = { services: ["010_Users()"] };
    await carryOut({ id: "Service_010_Users" }, service(null), { registry });
    expect(calls[0]?.[0]).toBe("010_Users");
  });

  const answers: [unknown, unknown][] = [
    [{ data: { n: 1 }, code: 0 }, { n: 1 }],
    [
      { data: null, code: 0 },
      { data: null, code: 0 },
    ],
    [{ data: 0 }, { data: 0 }],
    ["text", "text"],
    [undefined, null],
  ];

  test.each(answers)("with the answer %j returns %j", async (answer, result) => {
    const went = await carryOut({ id: "Service_Users" }, service(answer));
    expect(went.called).toEqual({ locals: { _result: result } });
  });

  test("that fails, returns a cycle or is missing fails the step", async () => {
    const ring: Record<string, unknown> = {};
    ring.ring = ring;
    const cyclic = await carryOut({ id: "Service_Users" }, service(ring));
    expect(cyclic.error).toMatchObject({ code: "RESULT_NO_JSON" });
    const failing = { service: { call: () => Promise.reject("down") } };
    expect((await carryOut({ id: "Service_Users" }, failing)).error).toBe("down");
    expect(String((await carryOut({ id: "Service_Users" }, {})).error)).toContain(
      'adapter "service"',
    );
  });

  test("that never answers ends with the run", async () => {
    const abort = new AbortController();
    const call = () => {
      abort.abort(new Error("stopped"));
      return new Promise(() => undefined);
    };
    const { signal } = abort;
    const went = await carryOut({ id: "Service_Users" }, { service: { call } }, { signal });
    expect(String(went.error)).toContain("stopped");
  });
});

test("a component is called by id, and its answer is the result", async () => {
  const calls: unknown[] = [];
  const component = {
    call: async (id: string, params: unknown) => (calls.push([id, params]), { data: 1 }),
  };
  const registry = { components: ["Card", { id: "1_Chart" }] };
  const around = { registry, inputs: { title: "Hi" } };
  const went = await carryOut({ id: "Component_020_Card" }, { component }, around);
  await carryOut({ id: "Component_1_Chart" }, { component }, around);
  expect(went.called).toEqual({ locals: { _result: { data: 1 } } });
  expect(calls).toEqual([
    ["Card", { title: "Hi" }],
    ["1_Chart", { title: "Hi" }],
  ]);
});
