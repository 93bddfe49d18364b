import { expect, test } from "bun:test";
import { Engine, type StepDocument } from "../src/entry/index.ts";
import { flow, ran } from "./ran.ts";

/** The names of inherited properties. */
const inherited = Object.getOwnPropertyNames(Object.prototype).filter(
  (name) => name !== "__proto__",
);

const counting = flow(
  [
    { id: "Loop_W", source: "=words", children: ["Set_C"], next: "RETURN" },
    { id: "Set_C", target: "$count.{_item}", value: "=$count[_item] + 1", next: "RETURN" },
  ],
  { params: ["words([STRING])"], vars: ["$count(OBJECT) = {}"] },
);

test("items are counted under any name, even if a run resumes from any checkpoint", async () => {
  const words = ["a", ...inherited, "prototype", ...inherited, "a"];
  const counts = Object.fromEntries([
    ["a", 2],
    ["prototype", 1],
    ...inherited.map((name) => [name, 2]),
  ]);
  const { checkpoints, variables } = await ran(counting, { params: { words } });
  expect(JSON.parse(JSON.stringify(variables))).toEqual({ $count: counts });
  for (const from of checkpoints) {
    const again = await ran(counting, { from: JSON.parse(JSON.stringify(from)) });
    expect(JSON.parse(JSON.stringify(again.variables))).toEqual({ $count: counts });
  }
});

test("a value is written under any name, and inherited values are not read", async () => {
  const words = [...inherited, "prototype"];
  const below = flow(
    [
      { id: "Loop_W", source: "=words", children: ["Set_N"], next: "RETURN" },
      { id: "Set_N", target: "$seen.{_item}.name", value: "=_item", next: "RETURN" },
    ],
    { params: ["words([STRING])"], vars: ["$seen(OBJECT) = {}"] },
  );
  const { variables } = await ran(below, { params: { words } });
  const seen = Object.fromEntries(words.map((name) => [name, { name }]));
  expect(JSON.parse(JSON.stringify(variables))).toEqual({ $seen: seen });
  expect(Object.name).toBe("Object");
});

test("the name that replaces a prototype is refused, and prototypes don't change", async () => {
  const { error, status } = await ran(counting, { params: { words: ["__proto__"] } });
  expect([status, String(error)]).toEqual(["failed", expect.stringContaining("__proto__")]);
  expect(Object.getPrototypeOf({})).toBe(Object.prototype);
});

test("a param with a name that no expression reads is refused", () => {
  for (const name of ["__proto__", "SYSVAR", "null"]) {
    const document = flow([{ id: "Noop_A", next: "RETURN" }], { params: [`${name}(STRING)`] });
    expect(new Engine(document).validate()).toEqual([
      expect.stringContaining(`the name ${name} is reserved`),
    ]);
  }
});

test("steps, params and variables may have these names", async () => {
  const constructs = (name: string): StepDocument[] => [
    { id: name, type: "Loop", source: [1, 2], children: [`Noop_${name}`], next: `${name}s` },
    { id: `Noop_${name}`, children: [`Set_${name}`], next: "RETURN" },
    { id: `Set_${name}`, target: `$${name}`, value: `=$${name} + _item + ${name}`, next: "RETURN" },
    { id: `${name}s`, type: "Noop", children: [`Set_${name}_a`], next: "RETURN" },
    { id: `Set_${name}_a`, target: `$${name}`, value: `=$${name} * 2`, next: "RETURN" },
  ];
  for (const name of inherited.filter((one) => !one.startsWith("__"))) {
    const document = flow(constructs(name), {
      params: [`${name}(INT) = 10`],
      vars: [`$${name}(INT) = 0`],
    });
    expect(new Engine(document).validate()).toEqual([]);
    const { checkpoints, variables } = await ran(document);
    expect(variables).toEqual({ [`$${name}`]: 46 });
    for (const from of checkpoints) {
      const again = await ran(document, { from: JSON.parse(JSON.stringify(from)) });
      expect(again.variables).toEqual({ [`$${name}`]: 46 });
    }
  }
});

test("an index returns a whole character, and all indexes together return the whole text", async () => {
  const text = "héllo🙂!🙃";
  const document = flow(
    [
      {
        id: "Loop_A",
        while: "$n < s.length",
        maxIterations: 99,
        children: ["Set_A"],
        next: "RETURN",
      },
      { id: "Set_A", out: { "$list[$n]": "=s[$n]", $n: "=$n + 1" }, next: "RETURN" },
    ],
    { params: ["s(STRING)"], vars: ["$n(INT) = 0", "$list(ARRAY) = []"] },
  );
  const { variables } = await ran(document, { params: { s: text } });
  const list = variables.$list as string[];
  expect(list).toEqual(["h", "é", "l", "l", "o", "🙂", "", "!", "🙃", ""]);
  expect(list.every((one) => one.isWellFormed())).toBe(true);
});
