import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../system/port.ts";

const loginFile = ".credentials.json";

/**
 * Returns a user's interactive login of Claude Code, as a file for the configuration folder inside the sandbox. Empty
 * for an agent with an API key.
 */
export function claudeLogin(env: Environment, folder: string): { content: string; to: string }[] {
  if (env.ANTHROPIC_API_KEY || env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN) return [];
  const path = join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? homedir(), ".claude"), loginFile);
  if (!existsSync(path)) return [];
  return [{ content: readFileSync(path, "utf8"), to: `${folder}/${loginFile}` }];
}

/** Returns the model addresses, as `host:port`, that an environment sets in place of the providers' addresses. */
export function modelEndpoints(env: Environment): string[] {
  return [env.ANTHROPIC_BASE_URL, env.OPENAI_BASE_URL].flatMap((given) => {
    const url = URL.parse(given ?? "");
    if (url === null) return [];
    return [`${url.hostname}:${url.port || (url.protocol === "http:" ? 80 : 443)}`];
  });
}

/**
 * Returns the folders of this user's clusters. A cluster's servers accept every request over the sockets in its folder.
 */
export function clusterFolders(env: Environment): string[] {
  const state = env.XDG_STATE_HOME || join(env.HOME ?? homedir(), ".local/state");
  const notes = join(state, "uncaged-workflow/clusters");
  return existsSync(notes) ? readdirSync(notes).map((name) => join(notes, name)) : [];
}

/** Lists the private entries of a home folder: names that begin with a dot, and `names` in any case. */
export function privateIn(home: string, names: readonly string[] = []): string[] {
  const blocked = names.map((name) => name.toLowerCase());
  const isPrivate = (name: string) => name.startsWith(".") || blocked.includes(name.toLowerCase());
  const all = existsSync(home) ? readdirSync(home) : [];
  return all.filter(isPrivate).map((name) => join(home, name));
}
