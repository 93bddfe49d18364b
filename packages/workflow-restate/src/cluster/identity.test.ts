import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { codeOf } from "../../../workflow/test/fixtures/until.ts";
import { identityKeyOf, readIdentityKey, signatureCheck } from "./identity.ts";

const newKey = () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  return { privateKey, identityKey: identityKeyOf(pem) };
};
const [own, other] = [newKey(), newKey()];
const path = "/invoke/thread/drive";
const time = 1_800_000_000;
const valid = { aud: path, iat: time, nbf: time - 60, exp: time + 60 };

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function headersOf(claims: object, key: KeyObject = own.privateKey, head: object = {}) {
  const text = `${part({ typ: "JWT", alg: "EdDSA", kid: own.identityKey, ...head })}.${part(claims)}`;
  const signature = sign(null, Buffer.from(text), key).toString("base64url");
  return {
    "x-restate-signature-scheme": "v1",
    "x-restate-jwt-v1": `${text}.${signature}`,
  };
}

const check = signatureCheck([own.identityKey], () => time * 1000);

describe("a request to a worker", () => {
  test("is accepted if a server has signed its path and a valid period", () => {
    expect(check(path, headersOf(valid))).toBe(true);
  });

  const jwt = headersOf(valid)["x-restate-jwt-v1"];
  test.each([
    ["no headers", {}],
    ["no scheme", { "x-restate-jwt-v1": jwt }],
    ["another scheme", { ...headersOf(valid), "x-restate-signature-scheme": "unsigned" }],
    [
      "no signature",
      { ...headersOf(valid), "x-restate-jwt-v1": `${jwt.split(".", 2).join(".")}.` },
    ],
    ["a fourth part", { ...headersOf(valid), "x-restate-jwt-v1": `${jwt}.x` }],
    ["no JWT", { ...headersOf(valid), "x-restate-jwt-v1": "x.y.z" }],
    ["the signature of another key", headersOf(valid, other.privateKey)],
    ["another key's name", headersOf(valid, other.privateKey, { kid: other.identityKey })],
    ["another algorithm", headersOf(valid, own.privateKey, { alg: "none" })],
    ["another path", headersOf({ ...valid, aud: "/discover" })],
    ["an expired period", headersOf({ ...valid, exp: time - 1 })],
    ["a future period", headersOf({ ...valid, nbf: time + 1 })],
    ["no period", headersOf({ aud: path })],
  ] as [string, object][])("is refused with %s", (_what, headers) => {
    expect(check(path, { ...headers })).toBe(false);
  });
});

test.each(["", "x", "publickeyv1_", "publickeyv1_0", `publickeyv1_${"z".repeat(50)}`])(
  "%p is refused as the key of a server",
  async (text) => {
    expect(await codeOf(Promise.try(() => readIdentityKey(text)))).toBe("BAD_IDENTITY_KEY");
  },
);
