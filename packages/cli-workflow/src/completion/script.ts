import bash from "./completion.bash.template" with { type: "text" };
import fish from "./completion.fish.template" with { type: "text" };
import zsh from "./completion.zsh.template" with { type: "text" };

/** The shells that there is a completion script for. */
export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

const scripts: Record<Shell, string> = { bash, zsh, fish };

/** The script that teaches a shell to complete the command: it asks `uncaged-workflow __complete`. */
export const scriptOf = (shell: Shell): string => scripts[shell];
