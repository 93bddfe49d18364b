import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "../contract/error.ts";
import { pickThread } from "../record/selection.ts";

const ids = [
  "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "01ARZ3NDEKTSV4RRFFQ69G5FBW",
  "01BRZ3NDEKTSV4RRFFQ69G5FCX",
];
const threads = ids.map((threadId) => ({ hash: "EYHPV6X8XHTCS", threadId }));
function pick(text: string, among = threads): string {
  try {
    return pickThread(among, text).threadId;
  } catch (error) {
    return isWorkflowError(error) ? `${error.kind} ${error.code}` : String(error);
  }
}

describe("finding a thread", () => {
  test("by its id, any unique prefix or suffix, in any case", () => {
    expect(pick(ids[0] as string)).toBe(ids[0] as string);
    expect(pick("01B")).toBe(ids[2] as string);
    expect(pick("fbw")).toBe(ids[1] as string);
  });

  test("by @last, the newest thread", () => {
    expect(pick("@last")).toBe(ids[2] as string);
    expect(pick("@last", [])).toBe("missing THREAD_NOT_FOUND");
  });

  test("is ambiguous when several threads match, and the hint lists them", () => {
    expect(pick("01A")).toBe("usage THREAD_AMBIGUOUS");
    expect(() => pickThread(threads, "01A")).toThrow("matches 2 threads");
  });

  for (const text of ["", "nothing", "../x", "@first", "0".repeat(300), "\0", "\n"]) {
    test(`fails for ${JSON.stringify(text).slice(0, 20)}`, () => {
      expect(pick(text)).toBe("missing THREAD_NOT_FOUND");
    });
  }
});
