import type { Called } from "../step/call.ts";
import type { Task } from "./task.ts";

export const isSubflow = (_task: Task): boolean => false;

export const runSubflow = (_task: Task): Promise<Called> => Promise.reject(new Error("not yet"));
