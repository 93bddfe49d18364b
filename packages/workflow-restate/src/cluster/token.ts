import { createHash, timingSafeEqual } from "node:crypto";

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Returns a constant-time check of `Authorization` headers against a token. */
export function tokenCheck(token: string): (authorization: string | null | undefined) => boolean {
  const wanted = digest(token);
  return (authorization) => {
    const [, sent] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    return sent !== undefined && timingSafeEqual(digest(sent), wanted);
  };
}
