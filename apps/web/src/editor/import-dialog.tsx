import { FolderOpen } from "lucide-react";
import { useRef, useState } from "react";
import { counted } from "../lib/format.ts";
import { Button, Copy } from "../ui/button.tsx";
import { Dialog, DialogBody, DialogForm } from "../ui/dialog.tsx";
import { TextArea } from "../ui/field.tsx";
import { useEdited, useEditor } from "./document/use-document.ts";
import type { Converted } from "./kind.ts";

type Props = { isOpen: boolean; onClose: () => void };

/** Imports a file or a pasted text. */
export function ImportDialog({ isOpen, onClose }: Props) {
  const { kind } = useEdited();
  const description = kind.convert
    ? `The JSON of a ${kind.noun}, the TypeScript of an Agent Builder workflow, or the JSON of a Flowise AgentFlow. It replaces the ${kind.noun}; undo brings it back.`
    : `The JSON of a ${kind.noun}. It replaces the ${kind.noun}; undo brings it back.`;
  return (
    <Dialog wide title="Import" description={description} isOpen={isOpen} onClose={onClose}>
      <ImportForm onClose={onClose} />
    </Dialog>
  );
}

function ImportForm({ onClose }: Pick<Props, "onClose">) {
  const { actions } = useEditor();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  return (
    <DialogForm
      action="Import"
      isDisabled={text.trim() === ""}
      onClose={onClose}
      onSubmit={() => {
        onClose();
        void actions.import(text, "The pasted text");
      }}
    >
      <input
        ref={input}
        type="file"
        accept=".json,.ts,.txt,application/json"
        className="hidden"
        aria-label="File to import"
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          onClose();
          if (file) void actions.importFile(file);
        }}
      />
      <Button icon={<FolderOpen />} className="self-start" onClick={() => input.current?.click()}>
        Choose a file…
      </Button>
      <TextArea
        code
        label="Or paste the text"
        rows={10}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </DialogForm>
  );
}

type LeftProps = { converted: Converted | null; onClose: () => void };

/** The list of the parts that an import left out. */
export function LeftDialog({ converted, onClose }: LeftProps) {
  const { from = "", left = [] } = converted ?? {};
  const text = left.map(({ at, message }) => `${at}: ${message}`).join("\n");
  return (
    <Dialog
      wide
      title={`Imported from ${from}`}
      description={`${counted(left.length, "part")} could not be taken as they were. Their places are those of the file.`}
      isOpen={left.length > 0}
      onClose={onClose}
    >
      <DialogBody>
        {/* First, so that the focus does not scroll to the end. */}
        <span className="self-start">
          <Copy text={text} what="the list" />
        </span>
        <ul className="flex flex-col gap-2" aria-label="Parts left out">
          {left.map(({ at, message }, index) => (
            <li key={index} className="wrap-anywhere">
              <code className="text-small text-faint">{at}</code>
              <p>{message}</p>
            </li>
          ))}
        </ul>
      </DialogBody>
    </Dialog>
  );
}
