// Copies when VS Code's extension host began and ended what: its own marks, of which its page on the start shows only
// those of extensions that start before all others.
const vscode = require('vscode');

exports.activate = ({ subscriptions }) => {
  const copy = () => vscode.env.clipboard.writeText(JSON.stringify(globalThis.MonacoPerformanceMarks.getMarks()));
  subscriptions.push(vscode.commands.registerCommand('clock.copy', copy));
};
