import { describe, expect, test } from "bun:test";
import { maskOf } from "./mask.ts";

describe("masking", () => {
  test("takes out what variables with a secret's name hold", () => {
    const mask = maskOf({
      API_KEY: "sk-12345678",
      GITHUB_TOKEN: "ghp_abcdefgh",
      HOME: "/home/ada",
    });
    expect(mask("sk-12345678 at /home/ada by ghp_abcdefgh, sk-12345678")).toBe(
      "*** at /home/ada by ***, ***",
    );
  });

  test("leaves short values alone, which stand everywhere", () => {
    expect(maskOf({ TOKEN: "1", AUTH: "true" })("1 true")).toBe("1 true");
  });

  test("finds a secret in JSON text too", () => {
    const secret = 'pass"word\n\\1';
    const text = JSON.stringify({ error: `no: ${secret}` });
    expect(maskOf({ DB_PASSWORD: secret })(text)).toBe('{"error":"no: ***"}');
  });

  test("takes out the longer of two of which one begins the other", () => {
    const mask = maskOf({ A_KEY: "12345678", B_KEY: "12345678abcd" });
    expect(mask("12345678abcd 12345678")).toBe("*** ***");
  });

  test("takes a secret as text, whatever signs it has", () => {
    expect(maskOf({ SECRET: "$&.*+?^(1)" })("is $&.*+?^(1) it")).toBe("is *** it");
  });
});
