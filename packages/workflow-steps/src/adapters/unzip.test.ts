import { describe, expect, test } from "bun:test";
import { strToU8, zipSync } from "fflate/browser";
import { unzipped } from "./unzip.ts";

const failureOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe("an archive", () => {
  test("gives its files as they are, paths that lead out included", () => {
    const archive = zipSync({ "../x": strToU8("a"), "b/": new Uint8Array(), c: strToU8("") });
    expect(unzipped(archive).map(({ path }) => path)).toEqual(["../x", "c"]);
  });

  test("with too many files is refused", () => {
    const archive = zipSync(Object.fromEntries([1, 2, 3].map((n) => [`${n}`, strToU8("x")])));
    expect(failureOf(() => unzipped(archive, { mostFiles: 2 }))).toMatchObject({
      code: "ZIP_TOO_LARGE",
    });
    expect(unzipped(archive, { mostFiles: 3 })).toHaveLength(3);
  });

  test("that would be too large is refused before it is unpacked", () => {
    const archive = zipSync({ a: new Uint8Array(1_000_000), b: new Uint8Array(1_000_000) });
    expect(archive.length).toBeLessThan(10_000);
    const refused = failureOf(() => unzipped(archive, { mostBytes: 1_999_999 }));
    expect(refused).toMatchObject({ code: "ZIP_TOO_LARGE" });
    expect(unzipped(archive, { mostBytes: 2_000_000 })).toHaveLength(2);
  });

  test("that lies about a file's length gives no more than it says", () => {
    const archive = zipSync({ a: new Uint8Array(1_000_000) });
    const view = new DataView(archive.buffer);
    const central = archive.length - 22 - 47;
    expect(view.getUint32(central, true)).toBe(0x02014b50);
    view.setUint32(central + 24, 10, true);
    const [file] = unzipped(archive, { mostBytes: 100_000 });
    expect(file?.data.length ?? 0).toBeLessThanOrEqual(10);
  });

  const broken: [string, Uint8Array][] = [
    ["nothing", new Uint8Array()],
    ["text", strToU8("no archive")],
    ["half an archive", zipSync({ a: strToU8("x".repeat(100)) }).slice(0, 60)],
    ["the end of one", zipSync({ a: strToU8("x".repeat(100)) }).slice(40)],
  ];

  test.each(broken)("that is %s is refused", (_, bytes) => {
    const code = expect.stringMatching(/^ZIP_(BROKEN|TOO_LARGE)$/);
    expect(failureOf(() => unzipped(bytes))).toMatchObject({ code });
  });
});
