import type { DocumentPath } from "@uncaged/workflow/editing";
import { createContext, type RefObject } from "react";

/** The last focused field of an expression, with its caret. */
export type LastField = { node: string; path: DocumentPath; caret: number };

export const LastFieldContext = createContext<RefObject<LastField | null>>({ current: null });
