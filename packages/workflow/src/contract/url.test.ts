import { expect, test } from "bun:test";
import { messageOf, toErrorRecord, WorkflowError } from "./error.ts";
import { withoutPasswords } from "./url.ts";

test.each([
  ["postgres://ada:s3cret@db/x is not there", "postgres://ada:***@db/x is not there"],
  ["redis://:s3cret@db amqp://u:p@ss@h", "redis://:***@db amqp://u:***@h"],
  ["http://host:80/a@b, ssh://git@host/x", "http://host:80/a@b, ssh://git@host/x"],
])("%s is shown without its password", (text, shown) => {
  expect(withoutPasswords(text)).toBe(shown);
});

test("messages, hints and details of errors are shown without the passwords of URLs", () => {
  const url = "postgres://ada:s3cret@db";
  const error = new WorkflowError({ code: "X", message: url, hint: url, details: [url] });
  expect(JSON.stringify([error, toErrorRecord(error), String(error)])).not.toContain("s3cret");
  expect(messageOf(new Error(`no ${url}`))).toBe("no postgres://ada:***@db");
  expect(toErrorRecord(new TypeError(url)).message).toBe("postgres://ada:***@db");
});
