import { expect, test } from "bun:test";
import { maskOf } from "./mask.ts";

const value = "s3cret/value+1";

const secrets = `ANTHROPIC_API_KEY OPENAI_APIKEY GITHUB_TOKEN npm_config__authToken PGPASSWORD MYSQL_PWD
  AWS_SECRET_ACCESS_KEY HTTP_AUTHORIZATION BASIC_AUTH my_credentials`;
const none = "HOME PWD OLDPWD GIT_AUTHOR_NAME SSH_AUTH_SOCK XAUTHORITY LANG";

test.each(secrets.split(/\s+/))("%s says that it is a secret", (name) => {
  expect(maskOf({ [name]: value })(`it is ${value}.`)).toBe("it is ***.");
});

test.each(none.split(" "))("%s is none", (name) => {
  expect(maskOf({ [name]: value })(`it is ${value}.`)).toBe(`it is ${value}.`);
});

test("the password in an address is a secret, the address is not", () => {
  const mask = maskOf({ DATABASE_URL: "postgres://ada:hunter2hunter2@db.local:5432/app" });
  expect(mask("connecting to postgres://ada:hunter2hunter2@db.local:5432/app")).toBe(
    "connecting to postgres://ada:***@db.local:5432/app",
  );
});

test("headers are secrets by their own names", () => {
  const lines = "Authorization: Bearer abc12345678\nX-Team: the-builders\ncookie: id=0123456789";
  const mask = maskOf({ ANTHROPIC_CUSTOM_HEADERS: lines });
  expect(mask("abc12345678, the-builders, id=0123456789")).toBe("***, the-builders, ***");
});

test("the end of a text with which a secret may have begun is counted", () => {
  const { begun } = maskOf({ A_KEY: "abcabcabd", B_TOKEN: "xyzxyzxyz" });
  expect(
    ["", "no", "is a", "is abcabc", "abcabcabc", "is xyzxyzxy"].map((text) => begun?.(text)),
  ).toEqual([0, 0, 1, 6, 6, 8]);
});
