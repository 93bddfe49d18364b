import { createContext, type RefObject } from "react";
import type { DocumentPath } from "../kind.ts";

/** The field of an expression that had the focus last, with its caret. */
export type LastField = { node: string; path: DocumentPath; caret: number };

export const LastFieldContext = createContext<RefObject<LastField | null>>({ current: null });
