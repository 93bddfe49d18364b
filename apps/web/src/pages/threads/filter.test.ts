import { describe, expect, test } from "bun:test";
import { readThreadsSearch } from "../../lib/search.ts";
import { lengthOf, queryOfFilter, timeOf, timesOf } from "../../lib/thread-filter.ts";
import {
  builtIn,
  chipsOf,
  choicesOf,
  filterNames,
  markedParts,
  textOfFilter,
  viewsIn,
} from "./filter.ts";

const now = Date.parse("2026-11-28T10:30:00Z");
const known = { workflows: ["review"], versions: [{ hash: "EYHPV6X8XHTCS", timestamp: now }] };

test.each([
  ["90s", 90_000],
  ["10m", 600_000],
  ["1.5h", 5_400_000],
  ["7d", 604_800_000],
  ["7 weeks", null],
  ["", null],
])("the length %j is %j", (text, ms) => {
  expect(lengthOf(text)).toBe(ms);
});

describe("a time", () => {
  test("is an age, a moment, or the start of the day", () => {
    expect(timeOf("1h", now)).toBe(now - 3_600_000);
    expect(timeOf("2026-11-28T10:00Z", now)).toBe(now - 1_800_000);
    expect(new Date(timeOf("today", now) ?? 0).getHours()).toBe(0);
    expect(timeOf("99999d", now)).toBe(0);
  });

  test.each(["never", "", "1969-01-01T00:00Z"])("is not %j", (text) => {
    expect(timeOf(text, now)).toBeNull();
  });
});

test("a filter becomes the parameters of a request", () => {
  const filter = readThreadsSearch({
    ...{ status: "failed,killed", workflow: "review", version: "EYHPV6", since: "1h" },
    ...{ worked: "10m", cost: 0.5, error: "true", q: " two words " },
  });
  const query: object = { ...queryOfFilter(filter), ...timesOf(filter, now) };
  expect(query).toEqual({
    status: ["failed", "killed"],
    workflow: "review@EYHPV6",
    search: "two words",
    minWorkedMs: 600_000,
    minCost: 0.5,
    hasError: true,
    since: now - 3_600_000,
    until: undefined,
  });
  expect(queryOfFilter({ version: "EYHPV6" }).workflow).toBe("EYHPV6");
});

test("each choice of each menu is on after it was chosen, and has a chip that removes it", () => {
  for (const name of filterNames) {
    const before = name === "Version" ? { workflow: "review" } : {};
    for (const { text, isOn, change } of choicesOf(name, before, known)) {
      expect(isOn).toBe(false);
      const after = readThreadsSearch({ ...before, ...change });
      const again = choicesOf(name, after, known).filter((choice) => choice.isOn);
      expect(again.map((choice) => choice.text)).toEqual([text]);
      const chip = chipsOf(after).find((one) => one.name === name);
      expect(textOfFilter({ ...after, ...chip?.without })).toBe(textOfFilter(before));
    }
  }
});

test("a second status is added, and the same status is removed", () => {
  const choose = (status: string | undefined, text: string) =>
    choicesOf("Status", { status }, known).find((choice) => choice.text === text)?.change.status;
  expect(choose("failed", "running")).toBe("running,failed");
  expect(choose("running,failed", "running")).toBe("failed");
  expect(choose("failed", "failed")).toBeUndefined();
});

test("the built-in views have valid filters", () => {
  for (const { filter } of builtIn) {
    expect(textOfFilter(readThreadsSearch(filter))).toBe(textOfFilter(filter));
  }
});

describe("stored views", () => {
  test("keep their valid filters only", () => {
    const stored = [
      { name: "Mine", filter: { status: "failed", cost: "much" } },
      { name: 7 },
      null,
    ];
    const [view, ...others] = viewsIn(JSON.stringify(stored));
    expect(view?.name).toBe("Mine");
    expect(textOfFilter(view?.filter ?? {})).toBe(textOfFilter({ status: "failed" }));
    expect(others).toEqual([]);
  });

  test.each(["", "{", "{}", "7"])("are none in %j", (text) => {
    expect(viewsIn(text)).toEqual([]);
  });
});

describe("the marks of a search", () => {
  const marked = (text: string, search: string) =>
    markedParts(text, search)
      .map((part) => (part.isHit ? `[${part.text}]` : part.text))
      .join("");

  test.each([
    ["Orders of an order", "order", "[Order]s of an [order]"],
    ["a.b (c)", "(c) .", "a[.]b [(c)]"],
    ["nothing", "else", "nothing"],
    ["all of it", "", "all of it"],
  ])("in %j for %j are %j", (text, search, expected) => {
    expect(marked(text, search)).toBe(expected);
  });
});
