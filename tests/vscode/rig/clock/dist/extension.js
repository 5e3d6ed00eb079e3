// Copies the timing marks of VS Code's extension host. VS Code's own page shows only those of the extensions that start
// first.
const vscode = require('vscode');

exports.activate = ({ subscriptions }) => {
  const copy = () => vscode.env.clipboard.writeText(JSON.stringify(globalThis.MonacoPerformanceMarks.getMarks()));
  subscriptions.push(vscode.commands.registerCommand('clock.copy', copy));
};
