-- Configuration of the server for `vim.lsp.config` and `vim.lsp.enable`.
return require('backstitch.server').config()
