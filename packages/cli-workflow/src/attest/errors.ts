import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of signing and verifying attestations. */

export const notAnEnvelope = (file: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_AN_ATTESTATION",
    `${show(file)}: ${problem}`,
    "give a file that attest wrote",
  );

/** The signing or verifying program is missing. `packages` contain the program. */
export const noSigner = (program: string, packages: string): WorkflowError =>
  WorkflowError.failed(
    "NO_SIGNER",
    `${program} is not installed`,
    `install ${packages}, or use a key of another kind`,
  );

/** A signing program that failed with the message `problem`. */
export const notSigned = (key: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_SIGNED",
    `can't sign with ${show(key)}: ${problem}`,
    "check the key with its own program; ssh-add -L lists the keys of ssh-agent",
  );

export const notAKey = (key: string, problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_KEY",
    `${show(key)} ${problem}`,
    "name the file of a private key, or of a public key whose private key ssh-agent has",
  );

export const notAPublicKey = (key: string, problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_KEY",
    `${show(key)} ${problem}`,
    "name the public key, or an allowed-signers file of ssh-keygen",
  );

export const outExists = (file: string): WorkflowError =>
  WorkflowError.usage(
    "FILE_EXISTS",
    `${show(file)} already exists`,
    "name another file, or remove it",
  );
