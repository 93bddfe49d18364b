import { describe, expect, test } from "bun:test";
import { codeOf } from "../../../workflow/test/fixtures/until.ts";
import { hostUrl, readHostUrl } from "./address.ts";

const local = { ingress: "http://127.0.0.1:8080", admin: "http://127.0.0.1:9070", token: null };

describe("readHostUrl", () => {
  const good: [string, object][] = [
    ["restate://127.0.0.1", local],
    ["restate://127.0.0.1:8080/", local],
    [
      "restate://127.0.0.1:1?admin=2",
      { ingress: "http://127.0.0.1:1", admin: "http://127.0.0.1:2" },
    ],
    [
      "restates://a.example",
      { ingress: "https://a.example:8080", admin: "https://a.example:9070" },
    ],
    ["restate://a:80?admin=b:90", { ingress: "http://a:80", admin: "http://b:90" }],
    ["restate://[::1]:80", { ingress: "http://[::1]:80", admin: "http://[::1]:9070" }],
  ];
  test.each(good)("%s", (text, address) => {
    const read = readHostUrl(text, {});
    expect(read).toMatchObject(address);
    expect(readHostUrl(hostUrl(read), {})).toEqual(read);
  });

  test("reads the token from the environment", () => {
    expect(readHostUrl("restate://a", { UNCAGED_WORKFLOW_HOST_TOKEN: "x" }).token).toBe("x");
    expect(readHostUrl("restate://a", { UNCAGED_WORKFLOW_HOST_TOKEN: "" }).token).toBeNull();
  });

  test.each([
    ...["", "x", "restate:", "restate://", "http://a", "restate://a:x", "restate://a/b"],
    ...["restate://a?admin=", "restate://a?admin=0", "restate://a?admin=99999", "restate://a?x=1"],
    ...["restate://u:p@a", "restate://a#b", "restate://a?admin=b c:1"],
  ])("%p is refused as a cluster URL", async (text) => {
    const read = Promise.try(() => readHostUrl(text, {}));
    expect(await codeOf(read)).toBe("BAD_HOST_URL");
  });

  test.each(["me:s3cret@a", "postgres://me:s3cret@a", ":s3cret@", "restate://me:s3cret@a?x=1"])(
    "the error for %p hides the password",
    async (text) => {
      const read = Promise.try(() => readHostUrl(text, {}));
      expect(await read.catch((error: Error) => error.message)).not.toContain("s3cret");
    },
  );

  test("an error shows a URL without a password unchanged", () => {
    expect(() => readHostUrl("http://a:b/c", {})).toThrow('"http://a:b/c"');
  });
});
