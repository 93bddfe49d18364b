import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { maskLater, maskOf } from "./mask.ts";

const value = "s3cret/value+1";
const secrets = `ANTHROPIC_API_KEY OPENAI_APIKEY GITHUB_TOKEN npm_config__authToken PGPASSWORD MYSQL_PWD
  AWS_SECRET_ACCESS_KEY HTTP_AUTHORIZATION BASIC_AUTH my_credentials SMTP_PASS
  AZURE_STORAGE_CONNECTION_STRING`;
const none = "HOME PWD OLDPWD COMPASS_MODE GIT_AUTHOR_NAME SSH_AUTH_SOCK XAUTHORITY LANG";

test.each(secrets.split(/\s+/))("%s is the name of a secret", (name) => {
  expect(maskOf({ [name]: value })(`it is ${value}.`)).toBe("it is ***.");
});

test.each(none.split(" "))("%s is not the name of a secret", (name) => {
  expect(maskOf({ [name]: value })(`it is ${value}.`)).toBe(`it is ${value}.`);
});

test("the password in a URL is a secret, the rest of the URL is not", () => {
  const mask = maskOf({ DATABASE_URL: "postgres://ada:hunter2%2Fhunter2@db.local:5432/app" });
  expect(mask("connecting to postgres://ada:hunter2%2Fhunter2@db.local:5432/app")).toBe(
    "connecting to postgres://ada:***@db.local:5432/app",
  );
  expect(mask("no user has hunter2/hunter2")).toBe("no user has ***");
});

test("each password in a list of URLs is a secret", () => {
  const mask = maskOf({ BROKERS: "amqp://:first-secret@a,amqp://u:other-secret@b x://c:80/d@e" });
  expect(mask("first-secret other-secret 80/d")).toBe("*** *** 80/d");
});

test("named variables with at least 6 characters are secrets, except model names", () => {
  const env = { GREETING: "hello there", PIN: "1234", CODE: "s3cret", OPENAI_MODEL: "gpt-large" };
  expect(maskOf(env, Object.keys(env))("hello there 1234 s3cret gpt-large")).toBe(
    "*** 1234 *** gpt-large",
  );
  expect(maskOf(env, ["__proto__", "NONE"])("hello there s3cret")).toBe("hello there s3cret");
});

test("headers with secret names are secrets", () => {
  const lines = "Authorization: Bearer abc12345678\nX-Team: the-builders\ncookie: id=0123456789";
  const mask = maskOf({ ANTHROPIC_CUSTOM_HEADERS: lines });
  expect(mask("abc12345678, the-builders, id=0123456789")).toBe("***, the-builders, ***");
});

test("a secret is also masked in base64, in hexadecimal and in a URL", () => {
  const mask = maskOf({ API_KEY: "s3cret+välue/1" });
  const bytes = Buffer.from("s3cret+välue/1");
  for (const encoding of ["base64", "base64url", "hex"] as const) {
    expect(mask(`-> ${bytes.toString(encoding)} <-`)).toMatch(/^-> \*\*\*=* <-$/);
    for (const before of ["", "u", "us", "use"]) {
      const text = Buffer.concat([Buffer.from(before), bytes, Buffer.from(":x")]);
      const inner = mask(text.toString(encoding));
      expect(inner).toContain("***");
      expect(inner.length).toBeLessThan(16);
    }
  }
  expect(mask("https://host/?key=s3cret%2Bv%C3%A4lue%2F1")).toBe("https://host/?key=***");
});

describe("masking", () => {
  test("masks each secret at every position", () => {
    const env = { API_KEY: "sk-12345678", GITHUB_TOKEN: "ghp_abcdefgh", HOME: "/home/ada" };
    expect(maskOf(env)("sk-12345678 at /home/ada by ghp_abcdefgh, sk-12345678")).toBe(
      "*** at /home/ada by ***, ***",
    );
  });

  test("does not mask short values", () => {
    expect(maskOf({ TOKEN: "1", AUTH: "true" })("1 true")).toBe("1 true");
  });

  test("masks a secret that JSON has escaped, and each line of a secret", () => {
    const secret = 'pass"word\n\\1';
    const text = JSON.stringify({ error: `no: ${secret}` });
    expect(maskOf({ DB_PASSWORD: secret })(text)).toBe('{"error":"no: ***"}');
    const pem = maskOf({ PRIVATE_KEY: "the first line\nthe second line" });
    expect(pem("see the second line")).toBe("see ***");
  });

  test("masks the longer of two secrets with a common prefix", () => {
    const mask = maskOf({ A_KEY: "12345678", B_KEY: "12345678abcd" });
    expect(mask("12345678abcd 12345678")).toBe("*** ***");
  });

  test("masks secrets with special characters of regular expressions", () => {
    expect(maskOf({ SECRET: "$&.*+?^(1)" })("is $&.*+?^(1) it")).toBe("is *** it");
  });

  test("changes only the texts and keys of a JSON value", () => {
    const mask = maskOf({ PIN_TOKEN: "12345678", ODD_KEY: '","secret":"' });
    const given = { a: ["is 12345678", 12345678, null], "12345678": true, b: ["", "secret"] };
    expect(mask.value(given)).toEqual({
      a: ["is ***", 12345678, null],
      "***": true,
      b: ["", "secret"],
    });
    expect(mask.value(undefined)).toBeUndefined();
  });
});

describe("masking a text that arrives in chunks", () => {
  test("delays a possible prefix of a secret", () => {
    const mask = maskOf({ A_KEY: "abcabcabd", B_TOKEN: "xyzxyzxyz" });
    const texts = ["", "no", "is a", "is abcabc", "abcabcabc", "is xyzxyzxy"];
    expect(texts.map((text) => mask.pending(text))).toEqual([0, 0, 1, 6, 6, 8]);
  });

  test("masks secrets across any chunk boundary and keeps all other text", () => {
    const secret = "abcabcabd";
    const mask = maskOf({ MY_KEY: secret, PLAIN: "plainplain", A_KEY: "short" });
    const parts = fc.array(fc.oneof(fc.constantFrom(secret, "abc", "ab", "abd", "x"), fc.string()));
    fc.assert(
      fc.property(parts, fc.array(fc.nat(200)), (words, cuts) => {
        const whole = words.join("");
        const ends = [...cuts.map((cut) => cut % (whole.length + 1)), whole.length];
        ends.sort((a, b) => a - b);
        const stream = mask.stream();
        const out = ends.map((end, at) => stream.push(whole.slice(ends[at - 1] ?? 0, end)));
        expect(out.join("") + stream.end()).toBe(mask(whole));
      }),
    );
  });
});

test("maskLater makes the mask once, at first use", () => {
  let made = 0;
  const now = maskOf({ MY_KEY: "abcabcabd" });
  const later = maskLater(() => ((made += 1), now));
  expect(made).toBe(0);
  const text = "is abcabcabd or abcabc";
  expect(later(text)).toBe(now(text));
  expect(later.value({ text })).toEqual(now.value({ text }));
  expect(later.pending(text)).toBe(now.pending(text));
  const stream = later.stream();
  expect(stream.push(text) + stream.end()).toBe(now(text));
  expect(made).toBe(1);
});
