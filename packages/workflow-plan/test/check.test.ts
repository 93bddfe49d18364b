import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { checkPlan, placed } from "../src/entry/index.ts";
import { generatedPlan } from "./generated/plans.ts";
import { plan, step } from "./parts.ts";

const messagesOf = (value: unknown): string[] =>
  checkPlan(value).errors.map(({ message }) => message);
const inStep = (given: object, ...others: ReturnType<typeof step>[]): string[] =>
  messagesOf({ ...plan([]), steps: [...others, { ...step("b"), ...given }] });
const withTrigger = (trigger: unknown): string[] => messagesOf({ ...plan([step("a")]), trigger });
const withPolicy = (policy: object): string[] =>
  messagesOf({ ...plan([step("a")]), failure_policy: { on_step_failure: "stop", ...policy } });
const referring = (text: string, depends_on = ["a"]): string[] =>
  inStep({ depends_on, inputs: { x: [{ y: text }] } }, step("a"));

describe("a plan's check", () => {
  test("accepts a plan, fills in defaults and drops unknown fields", () => {
    const steps = [{ ...step("a"), position: { x: 1, y: 2 }, more: 1 }];
    const { errors, plan: found } = checkPlan({
      ...plan([]),
      ...{ steps, phase: "active", id: "wf_1", failure_policy: { on_step_failure: "stop" } },
    });
    expect(errors).toEqual([]);
    expect(found).toEqual({
      ...plan([step("a")]),
      failure_policy: { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 5000 },
    });
  });

  test("names the step and the field of each problem", () => {
    const [problem] = checkPlan(plan([step("a"), step("b", [], { agent: "gpt" as never })])).errors;
    expect(problem).toEqual({
      path: ["steps", 1, "agent"],
      ...{ step: "b", field: "agent" },
      message: 'step "b": agent: must be claude, not "gpt"',
    });
  });

  const cases: [rule: string, found: string[], expected: string[]][] = [
    ["a blank name", messagesOf(plan([step("a")], {}, { name: " " })), ["name: must not be blank"]],
    [
      "a long name",
      messagesOf(plan([step("a")], {}, { name: "n".repeat(121) })),
      ["name: must have at most 120 characters"],
    ],
    [
      "a blank description",
      messagesOf(plan([step("a")], {}, { description: "" })),
      ["description: must not be blank"],
    ],
    [
      "a blank description of a step",
      inStep({ description: "\n" }),
      ['step "b": description: must not be blank'],
    ],
    ...["a_b", "A", "a--b", "-a", "a/../b", "ä", "🙂", "a b", "__proto__"].map(
      (id): [string, string[], string[]] => [
        `the id ${id}`,
        messagesOf(plan([step(id)])),
        [`step "${id}": id: must be kebab-case: a-z, 0-9 and single hyphens, such as fetch-issues`],
      ],
    ),
    [
      "a long id",
      messagesOf(plan([step("a".repeat(65))])),
      [expect.stringContaining("at most 64")],
    ],
    ["a duplicate id", inStep({}, step("b")), ['step "b": id: duplicate: steps 1 and 2 have it']],
    ["no steps", messagesOf(plan([])), ["steps: must have at least 1 step"]],
    [
      "10,000 steps",
      messagesOf(plan(Array.from({ length: 10_000 }, (_, n) => step(`s${n}`)))),
      ["steps: must have at most 200 steps, not 10000"],
    ],
    [
      "a missing dependency",
      inStep({ depends_on: ["x"] }),
      ['step "b": depends_on[0]: no step "x" found'],
    ],
    [
      "a step that depends on itself",
      inStep({ depends_on: ["b"] }),
      ['step "b": depends_on[0]: the step depends on itself'],
    ],
    [
      "a duplicate dependency",
      inStep({ depends_on: ["a", "a"] }, step("a")),
      ['step "b": depends_on[1]: duplicate "a"'],
    ],
    [
      "no list of dependencies",
      inStep({ depends_on: null }),
      ['step "b": depends_on: must be an array, not null'],
    ],
    [
      "a cycle",
      messagesOf(plan([step("x"), step("a", ["c"]), step("b", ["a"]), step("c", ["b", "x"])])),
      ['step "a": depends_on: the steps depend on each other: a -> c -> b -> a'],
    ],
    [
      "a list of inputs",
      inStep({ inputs: [] }),
      ['step "b": inputs: must be an object, not an array'],
    ],
    [
      "inputs that are not JSON",
      inStep({ inputs: { x: () => 1 } }),
      ['step "b": inputs.x: must be JSON'],
    ],
    [
      "a reference to an indirect dependency",
      messagesOf(
        plan([step("a"), step("b", ["a"]), step("c", ["b"], { inputs: { x: "$steps.a.output" } })]),
      ),
      [
        'step "c": inputs.x: "$steps.a.output" refers to a step that is not in depends_on: add "a" there',
      ],
    ],
    [
      "a reference to the step itself",
      referring("$steps.b.output"),
      ['step "b": inputs.x[0].y: "$steps.b.output" refers to the step itself'],
    ],
    ...["$steps.", "$steps.a", "$steps.A.output", "$steps.a_b.output", "$steps.a.outputs"].map(
      (text): [string, string[], string[]] => [
        `the reference ${text}`,
        referring(`see ${text}!`),
        [
          expect.stringContaining(
            "is not a reference: it must be $steps.<id>.output, with the id of a step",
          ),
        ],
      ],
    ),
    ...["$steps.a.output.x", "$steps.a.output.", "$steps.a.output[0]"].map(
      (text): [string, string[], string[]] => [
        `the nested reference ${text}`,
        referring(text),
        [expect.stringContaining("names a part of an output")],
      ],
    ),
    ["a webhook", withTrigger({ type: "webhook" }), ["trigger.type: must be poll, cron or manual"]],
    [
      "an interval of 0",
      withTrigger({
        type: "poll",
        interval_seconds: 0,
        check_script: "ls",
        diff_mode: "new_items",
      }),
      ["trigger.interval_seconds: must be a whole number of at least 1"],
    ],
    [
      "a blank script and another diff",
      withTrigger({ type: "poll", interval_seconds: 1, check_script: " ", diff_mode: "all" }),
      [
        "trigger.check_script: must not be blank",
        'trigger.diff_mode: must be new_items or any_change, not "all"',
      ],
    ],
    ...(
      [
        ["", "not 0"],
        ["0 0 9 * * *", "not 6"],
        ["@daily", "not 1"],
        ["60 * * * *", 'invalid minute "60": use 0 to 59'],
        ["* 24 * * *", 'invalid hour "24": use 0 to 23'],
        ["* * 0 * *", 'invalid day of the month "0": use 1 to 31'],
        ["* * 1-40 * *", 'invalid day of the month "1-40": use 1 to 31'],
        ["0 9 * 13 1", 'invalid month "13": use 1 to 12, or JAN to DEC'],
        ["0 9 * * MON-FOO", 'invalid weekday "MON-FOO": use 0 to 7, or SUN to SAT'],
        ["0 0 30 2 *", "has no future slot"],
      ] as const
    ).map(([expression, reason]): [string, string[], string[]] => [
      `the cron expression ${JSON.stringify(expression)}`,
      withTrigger({ type: "cron", expression }),
      [expect.stringMatching(new RegExp(`^trigger.expression: .*${reason}`))],
    ]),
    ...["CET/Berlin", "", "+01:00"].map((timezone): [string, string[], string[]] => [
      `the time zone ${JSON.stringify(timezone)}`,
      withTrigger({ type: "cron", expression: "0 9 * * 1-5", timezone }),
      [
        `trigger.timezone: "${timezone}" is not a time zone: use an IANA name such as Europe/Berlin`,
      ],
    ]),
    [
      "another policy",
      withPolicy({ on_step_failure: "ignore" }),
      ['failure_policy.on_step_failure: must be stop or skip_dependents or ask_user, not "ignore"'],
    ],
    ...[-1, 21, 0.5].map((max_retries): [string, string[], string[]] => [
      `${max_retries} retries`,
      withPolicy({ max_retries }),
      [expect.stringContaining("failure_policy.max_retries: must be a whole number")],
    ]),
    [
      "a delay of more than an hour",
      withPolicy({ retry_delay_ms: 3_600_001 }),
      ["failure_policy.retry_delay_ms: must be a whole number from 0 to 3600000"],
    ],
    ["null", messagesOf(null), ["the plan: must be an object, not null"]],
    [
      "a step of a wrong type",
      messagesOf({ ...plan([]), steps: [5] }),
      [expect.stringContaining('step "#1"')],
    ],
    [
      "a plan that is nested too deeply",
      inStep({ inputs: { x: nested(50_000) } }),
      ["the plan: is nested too deeply"],
    ],
  ];

  test.each(cases)("refuses %s", (_, found, expected) => {
    expect(found).toEqual(expected);
  });

  test("reports all problems at once", () => {
    const steps = [step("a_b"), step("c", ["x"], { inputs: { y: "$steps." } })];
    expect(messagesOf({ ...plan(steps), trigger: { type: "cron", expression: "" } })).toHaveLength(
      4,
    );
  });

  test("warns of references in fields that are not resolved", () => {
    const { errors, warnings } = checkPlan(
      plan([step("a", [], { description: "$trigger_data!" })]),
    );
    expect([errors, warnings.map(({ message }) => message)]).toEqual([
      [],
      [
        'step "a": description: $trigger_data stays as it is here: references are resolved in inputs only',
      ],
    ]);
  });

  test.each([
    ["{{a}}", '"{{a}}" stays as it is; write $steps.a.output'],
    ["of {{ steps.a.output }}!", '"{{ steps.a.output }}" stays as it is; write $steps.a.output'],
    ["${a.output}", '"${a.output}" stays as it is; write $steps.a.output'],
    ["{{trigger.body}}", '"{{trigger.body}}" stays as it is; write $trigger_data'],
    ["{{name}}", '"{{name}}" stays as it is; write $steps.<id>.output or $trigger_data'],
    [" =a", '" =a" stays as it is; write $steps.a.output'],
    ["=$trigger_data", '"=$trigger_data" stays as it is; write $trigger_data'],
    ...["${HOME}", "${name}", "{{.Names}}", "${{ a }}", "a", "=x", "$steps.a.output"].map(
      (text) => [text, null],
    ),
  ])("warns of %j, which is not a reference", (text, advice) => {
    const { errors, warnings } = checkPlan(
      plan([step("a"), step("b", ["a"], { inputs: { list: [text] } })]),
    );
    expect(errors).toEqual([]);
    const expected = advice === null ? [] : [`step "b": inputs.list[0]: ${advice}`];
    expect(warnings.map(({ message }) => message)).toEqual(expected);
  });

  test("drops a prototype in the input", () => {
    const inputs = JSON.parse('{"__proto__":{"x":1},"y":2}') as Record<string, never>;
    const { plan: found } = checkPlan(plan([step("a", [], { inputs })]));
    expect(Object.getPrototypeOf(found?.steps[0]?.inputs)).toBe(Object.prototype);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  test("never throws for any input", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        for (const value of [one, { ...plan([]), steps: one, trigger: other }]) {
          const { errors, plan: found } = checkPlan(value);
          expect(errors.length > 0).toBe(found === null);
        }
        const steps = [{ ...step("a"), inputs: one, depends_on: other }];
        expect(() => checkPlan({ ...plan([]), steps })).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});

function nested(depth: number): unknown {
  let value: unknown = "x";
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

test("the layout of a plan has no overlapping steps, and each edge points forward", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const steps = placed(generatedPlan(seed).steps);
    const at = new Map(steps.map(({ id, position }) => [id, position ?? { x: 0, y: 0 }]));
    for (const { depends_on, id } of steps) {
      const own = at.get(id) ?? { x: 0, y: 0 };
      for (const one of depends_on) expect((at.get(one)?.x ?? 0) + 240).toBeLessThan(own.x);
      for (const [other, { x, y }] of at) {
        const isApart = other === id || Math.abs(x - own.x) >= 240 || Math.abs(y - own.y) >= 96;
        expect({ seed, id, other, isApart }).toEqual({ seed, id, other, isApart: true });
      }
    }
  }
});

test("a step may be named like a property of every object", () => {
  const after = { ...step("constructor"), depends_on: ["a"] };
  const at = placed([step("a"), after]).map(({ id, position }) => [id, position?.x]);
  expect(at).toEqual([
    ["a", 0],
    ["constructor", 312],
  ]);
});
