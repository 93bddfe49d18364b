import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SecretFile } from "../src/home/secrets.ts";

/* The credentials of a plan home. */
const folder = mkdtempSync(join(tmpdir(), "uw-secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));
let homes = 0;
const newFile = () => {
  const home = mkdtempSync(join(folder, `${(homes += 1)}-`));
  return { path: join(home, "secrets.json"), secrets: new SecretFile(home) };
};

test("a credential is stored readable only for its owner, replaced and removed", () => {
  const { path, secrets } = newFile();
  const value = 'two\nlines and a "quote"';
  secrets.set("GITHUB_TOKEN", "first");
  secrets.set("GITHUB_TOKEN", value);
  secrets.set("A_TOKEN", "other");
  expect([secrets.names(), secrets.all()]).toEqual([
    ["A_TOKEN", "GITHUB_TOKEN"],
    { GITHUB_TOKEN: value, A_TOKEN: "other" },
  ]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect([secrets.remove("A_TOKEN"), secrets.remove("A_TOKEN")]).toEqual([true, false]);
  expect(secrets.names()).toEqual(["GITHUB_TOKEN"]);
});

test("an invalid name or value is refused, and nothing is written", () => {
  const { path, secrets } = newFile();
  for (const name of ["PATH", "a b", "lower", "", "1A", "LD_PRELOAD", "UNCAGED_PLAN_HOME"])
    expect(() => secrets.set(name, "value")).toThrow("is not a valid name of a secret");
  for (const value of ["", "a\0b"]) expect(() => secrets.set("A_TOKEN", value)).toThrow("A_TOKEN");
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});

test("a file that others can read, or that is broken, is refused and not overwritten", () => {
  const { path, secrets } = newFile();
  secrets.set("A_TOKEN", "value");
  chmodSync(path, 0o640);
  for (const act of [() => secrets.all(), () => secrets.set("B_TOKEN", "other")])
    expect(act).toThrow("can be read by other users");
  chmodSync(path, 0o600);
  writeFileSync(path, '{"A_TOKEN": ');
  for (const act of [() => secrets.names(), () => secrets.set("B_TOKEN", "other")])
    expect(act).toThrow("invalid JSON");
  expect(readFileSync(path, "utf8")).toBe('{"A_TOKEN": ');
});

test("processes that store credentials concurrently lose none of them", async () => {
  const program = `import { SecretFile } from ${JSON.stringify(new URL("../src/home/secrets.ts", import.meta.url).pathname)};
const [, , home, name] = process.argv;
const secrets = new SecretFile(home);
for (let n = 0; n < 10; n += 1) secrets.set(name + "_" + n, "value of " + n);`;
  const path = join(folder, "stores.ts");
  writeFileSync(path, program);
  const home = mkdtempSync(join(folder, "shared-"));
  const names = ["A", "B", "C"];
  const ends = names.map((name) => Bun.spawn([process.execPath, path, home, name]).exited);
  expect(await Promise.all(ends)).toEqual([0, 0, 0]);
  expect(new SecretFile(home).names()).toHaveLength(30);
}, 180_000);
