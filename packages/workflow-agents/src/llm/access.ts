import { LLMError } from "./error.ts";
import type { Asked } from "./fault.ts";

/**
 * Judges an address and a key before they are used: what a client says of them tells nobody what to mend.
 *
 * @throws LLMError `LLM_BAD_REQUEST` when the base URL is none, `LLM_AUTH` when a key can't be one.
 */
export function checkAccess({ provider, baseUrl, secrets }: Asked): void {
  if (!/^https?:\/\/./i.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new LLMError("LLM_BAD_REQUEST", `${provider} has an address that is no URL`, {
      hint: "mend the agent's baseUrl, or the base URL in the thread's environment: http(s)://…",
    });
  }
  if (secrets.every((secret) => /^[\x21-\x7e]+$/.test(secret))) return;
  throw new LLMError("LLM_AUTH", `the key for ${provider} has a character that no key has`, {
    hint: "set the key again: a line break, a space or a letter that is not ASCII has got into it",
  });
}
