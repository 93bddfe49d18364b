import { expect, test } from "bun:test";
import fc from "fast-check";
import { isWorkflowError } from "../contract/error.ts";
import type { Registry } from "./registry.ts";
import { register, resolve, rollBack, unregister, versionsOf, workflowOf } from "./versions.ts";

const [A, B, C, D] = ["A", "B", "C", "D"].map((digit) => digit.repeat(13)) as [
  string,
  string,
  string,
  string,
];
const none: Registry = new Map();

/** Registers the hashes in sequence, a millisecond apart. */
const added = (...hashes: string[]): Registry =>
  hashes.reduce((registry, hash, i) => register(registry, "w", hash, i + 1).registry, none);
const current = (registry: Registry) => workflowOf(registry, "w").hash;
const history = (registry: Registry) => workflowOf(registry, "w").history.map(({ hash }) => hash);

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (isWorkflowError(error)) return error.code;
    throw error;
  }
  return "no error";
}

test("a new version becomes current, and the previous version goes to the history", () => {
  const registry = added(A, B, C);
  expect(workflowOf(registry, "w")).toEqual({
    hash: C,
    timestamp: 3,
    history: [
      { hash: B, timestamp: 2 },
      { hash: A, timestamp: 1 },
    ],
  });
});

test("adding the current version again changes nothing", () => {
  const registry = added(A, B);
  expect(register(registry, "w", B, 99)).toEqual({ registry, unchanged: true });
});

test("registering a version of the history makes it current with a new timestamp", () => {
  const { registry, unchanged } = register(added(A, B, C), "w", A, 9);
  expect(unchanged).toBe(false);
  expect(workflowOf(registry, "w").timestamp).toBe(9);
  expect(history(registry)).toEqual([C, B]);
  expect(current(rollBack(registry, "w").registry)).toBe(C);
});

test("rollback walks back to the first version and does not toggle", () => {
  let registry = added(A, B, C);
  registry = rollBack(registry, "w").registry;
  expect(current(registry)).toBe(B);
  registry = rollBack(registry, "w").registry;
  expect(current(registry)).toBe(A);
  expect(history(registry)).toEqual([C, B]);
  expect(codeOf(() => rollBack(registry, "w"))).toBe("NOTHING_TO_ROLL_BACK");
  expect(() => rollBack(registry, "w")).toThrow(`w is at its first version ${A}`);
  expect(() => rollBack(added(A), "w")).toThrow(`w has only the version ${A}`);
});

test("rollback keeps every version's timestamp", () => {
  const registry = rollBack(added(A, B, C), "w", A).registry;
  expect(versionsOf(workflowOf(registry, "w"))).toEqual([
    { hash: C, timestamp: 3 },
    { hash: B, timestamp: 2 },
    { hash: A, timestamp: 1 },
  ]);
});

test("rollback to a named version can go forward, and accepts a prefix in any case", () => {
  const registry = rollBack(added(A, B, C), "w", A).registry;
  expect(rollBack(registry, "w", "ccc")).toMatchObject({ hash: C, previous: A });
});

test("rollback to the current version changes nothing", () => {
  const registry = added(A, B);
  expect(rollBack(registry, "w", B)).toEqual({ registry, hash: B, previous: B });
});

test("a version that is unknown, empty or ambiguous is refused, with the candidates", () => {
  const registry = added("AB00000000001", "AB00000000002", B);
  expect(codeOf(() => rollBack(registry, "w", D))).toBe("VERSION_NOT_FOUND");
  expect(codeOf(() => rollBack(registry, "w", ""))).toBe("VERSION_NOT_FOUND");
  try {
    rollBack(registry, "w", "ab");
    throw new Error("the version was not refused");
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    expect(error.code).toBe("VERSION_AMBIGUOUS");
    expect(error.hint).toContain("AB00000000001");
    expect(error.hint).toContain("AB00000000002");
  }
});

test("registrations within a millisecond or after the clock was set back keep their order", () => {
  let registry = register(none, "w", A, 1000).registry;
  registry = register(registry, "w", B, 1000).registry;
  registry = register(registry, "w", C, 3).registry;
  expect(versionsOf(workflowOf(registry, "w")).map(({ hash }) => hash)).toEqual([C, B, A]);
  expect(workflowOf(registry, "w").timestamp).toBe(1002);
});

test("after a rollback a new version is later than all other versions", () => {
  let registry = rollBack(added(A, B, C), "w", A).registry;
  registry = register(registry, "w", D, 0).registry;
  expect(versionsOf(workflowOf(registry, "w")).map(({ hash }) => hash)).toEqual([D, C, B, A]);
});

test("rollback visits versions with equal timestamps once each", () => {
  const tied: Registry = new Map([
    ["w", { hash: C, timestamp: 5, history: [A, B].map((hash) => ({ hash, timestamp: 5 })) }],
  ]);
  const seen = [current(tied)];
  let registry = tied;
  for (let i = 0; i < 2; i += 1) {
    registry = rollBack(registry, "w").registry;
    seen.push(current(registry));
  }
  expect(seen).toEqual([C, B, A]);
  expect(codeOf(() => rollBack(registry, "w"))).toBe("NOTHING_TO_ROLL_BACK");
});

test("random operations never lose or duplicate a version, and timestamps increase", () => {
  const hash = fc.constantFrom(A, B, C, D);
  const act = fc.oneof(
    fc.record({ add: hash, now: fc.nat(10) }),
    fc.record({ back: fc.option(hash, { nil: undefined }) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 20 }), (acts) => {
      let registry = register(none, "w", A, 5).registry;
      const ever = new Set([A]);
      for (const each of acts) {
        const before = versionsOf(workflowOf(registry, "w"))[0]?.timestamp ?? 0;
        if ("add" in each) {
          const done = register(registry, "w", each.add, each.now);
          registry = done.registry;
          ever.add(each.add);
          const { timestamp } = workflowOf(registry, "w");
          if (!done.unchanged) expect(timestamp).toBeGreaterThan(before);
        } else {
          try {
            registry = rollBack(registry, "w", each.back).registry;
          } catch (error) {
            if (!isWorkflowError(error)) throw error;
          }
        }
        const hashes = versionsOf(workflowOf(registry, "w")).map((version) => version.hash);
        expect(hashes.toSorted()).toEqual([...ever].toSorted());
      }
    }),
  );
});

test("a name that differs only by case from another is refused", () => {
  expect(codeOf(() => register(added(A), "W", B, 1))).toBe("NAME_TAKEN");
});

test.each(
  [
    ["", "a/b", "..", ".", "-rf", "a\0", "con", "nul.txt", "a.", "C:", "a\\b", "ä", "x".repeat(65)],
  ].flat(),
)("the name %p is refused", (name) => {
  expect(codeOf(() => register(none, name, A, 1))).toBe("BAD_NAME");
});

test("a name in the form of a hash is refused, unless it exists", () => {
  expect(codeOf(() => register(none, "0vm5yz9twrc8j", A, 1))).toBe("BAD_NAME");
  const there: Registry = new Map([["0VM5YZ9TWRC8J", { hash: A, timestamp: 1, history: [] }]]);
  expect(register(there, "0VM5YZ9TWRC8J", B, 2).unchanged).toBe(false);
});

test("registration requires the expected current version, unless the version is current already", () => {
  const at = (registry: Registry, hash: string, expected: string | null) => () =>
    current(register(registry, "w", hash, 9, expected).registry);
  expect(at(added(A), B, A.toLowerCase())()).toBe(B);
  expect(at(none, A, null)()).toBe(A);
  expect(at(added(A), A, B)()).toBe(A);
  expect([
    codeOf(at(added(A, B), C, A)),
    codeOf(at(added(A), B, null)),
    codeOf(at(none, B, A)),
    codeOf(at(added(A), B, "")),
  ]).toEqual(Array.from({ length: 4 }, () => "VERSION_CONFLICT"));
});

test("inherited property names are valid workflow names", () => {
  const registry = register(none, "constructor", A, 1).registry;
  expect(workflowOf(registry, "constructor").hash).toBe(A);
  expect(codeOf(() => workflowOf(registry, "toString"))).toBe("WORKFLOW_NOT_FOUND");
});

test("removing a name does not change other names", () => {
  const two = register(added(A), "v", B, 1).registry;
  expect([...unregister(two, "w").keys()]).toEqual(["v"]);
  expect(codeOf(() => unregister(two, "u"))).toBe("WORKFLOW_NOT_FOUND");
});

test("an unknown name that differs only by case gets a hint", () => {
  try {
    workflowOf(added(A), "W");
    throw new Error("the workflow was found");
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    expect(error.hint).toBe("did you mean w?");
  }
});

test("a dev name has no history, and differs from its workflow's name", () => {
  const { registry } = register(none, "review", A, 1);
  const saved = register(register(registry, "review@dev", B, 2).registry, "review@dev", A, 3);
  expect(saved.registry.get("review@dev")).toEqual({ hash: A, timestamp: 3, history: [] });
  expect(saved.registry.get("review")).toEqual({ hash: A, timestamp: 1, history: [] });
  expect(resolve(saved.registry, "review@dev", () => [])).toEqual({ name: "review@dev", hash: A });
  for (const name of ["@dev", "a@dev@dev", "a@b", "con@dev"]) {
    expect(() => register(none, name, A, 1)).toThrow("invalid workflow name");
  }
});
