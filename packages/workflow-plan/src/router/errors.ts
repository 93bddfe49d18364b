import { ExecutorError } from "../error/error.ts";

/* The errors of commands in a chat. */

/** A Telegram command for another bot. `to` is "@" and the bot's name. */
export const otherBot = (command: string, to: string): Error =>
  new Error(`/${command}${to} is for another bot`);

export const unknownCommand = (name: string): Error =>
  new Error(`unknown command /${name}; /help lists them`);

export const missingId = (usage: string): ExecutorError =>
  new ExecutorError(`missing id of a plan: ${usage}`, { hint: "/list shows the ids" });

export const missingRequest = (): ExecutorError => new ExecutorError("missing request: /new TEXT");

export const missingChange = (): ExecutorError =>
  new ExecutorError("missing change: /modify ID TEXT");
