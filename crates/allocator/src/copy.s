# cassay_copy(rdi: to, rsi: from, rdx: length) -> rax: to.
# 64 bytes of the beginning are in xmm0, xmm2, xmm4, xmm5, of the end in xmm6, xmm7, xmm3, xmm1,
# each in the order of memory.
    .pushsection .text.cassay_copy, "ax", @progbits
    .globl cassay_copy
    .hidden cassay_copy
    .type cassay_copy, @function
    .p2align 5
cassay_copy:
    .cfi_startproc
    mov rax, rdi
    cmp rdx, 16
    jb 20f
    movups xmm0, [rsi]
    movups xmm1, [rsi + rdx - 16]
    cmp rdx, 32
    ja 10f
    movups [rdi], xmm0
    movups [rdi + rdx - 16], xmm1
    ret
10: # 33 to 64
    movups xmm2, [rsi + 16]
    movups xmm3, [rsi + rdx - 32]
    cmp rdx, 64
    ja 30f
    movups [rdi], xmm0
    movups [rdi + 16], xmm2
    movups [rdi + rdx - 32], xmm3
    movups [rdi + rdx - 16], xmm1
    ret
20: # 0 to 15
    cmp edx, 8
    jae 23f
    cmp edx, 4
    jae 24f
    test edx, edx
    je 22f
    movzx ecx, byte ptr [rsi]
    cmp edx, 1
    je 21f
    movzx r8d, word ptr [rsi + rdx - 2]
    mov [rdi + rdx - 2], r8w
21: mov [rdi], cl
22: ret
23: mov rcx, [rsi]
    mov r8, [rsi + rdx - 8]
    mov [rdi], rcx
    mov [rdi + rdx - 8], r8
    ret
24: mov ecx, [rsi]
    mov r8d, [rsi + rdx - 4]
    mov [rdi], ecx
    mov [rdi + rdx - 4], r8d
    ret
30: # 65 to 128
    movups xmm4, [rsi + 32]
    movups xmm5, [rsi + 48]
    movups xmm6, [rsi + rdx - 64]
    movups xmm7, [rsi + rdx - 48]
    cmp rdx, 128
    ja 40f
    movups [rdi], xmm0
    movups [rdi + 16], xmm2
    movups [rdi + 32], xmm4
    movups [rdi + 48], xmm5
    movups [rdi + rdx - 64], xmm6
    movups [rdi + rdx - 48], xmm7
    movups [rdi + rdx - 32], xmm3
    movups [rdi + rdx - 16], xmm1
    ret
40: # longer: from the end where the destination begins within the source
    mov rcx, rdi
    sub rcx, rsi
    cmp rcx, rdx
    jb 60f
    cmp rdx, 2048
    jae 50f
    lea r8, [rdi + rdx - 64]
    movups [rdi], xmm0
    movups [rdi + 16], xmm2
    movups [rdi + 32], xmm4
    movups [rdi + 48], xmm5
    add rsi, 64
    add rdi, 64
41: movups xmm0, [rsi]
    movups xmm2, [rsi + 16]
    movups xmm4, [rsi + 32]
    movups xmm5, [rsi + 48]
    movups [rdi], xmm0
    movups [rdi + 16], xmm2
    movups [rdi + 32], xmm4
    movups [rdi + 48], xmm5
    add rsi, 64
    add rdi, 64
    cmp rdi, r8
    jb 41b
    movups [r8], xmm6
    movups [r8 + 16], xmm7
    movups [r8 + 32], xmm3
    movups [r8 + 48], xmm1
    ret
50: # 2048 and more: by eight bytes, and the rest of less than eight with the end that was read
    lea r8, [rdi + rdx - 16]
    mov rcx, rdx
    shr rcx, 3
    rep movsq
    movups [r8], xmm1
    ret
60: # backward, unless it stays where it is
    test rcx, rcx
    je 22b
    lea r8, [rdi + 64]
    lea rsi, [rsi + rdx - 64]
    lea rdi, [rdi + rdx - 64]
    movups [rdi], xmm6
    movups [rdi + 16], xmm7
    movups [rdi + 32], xmm3
    movups [rdi + 48], xmm1
61: movups xmm1, [rsi - 16]
    movups xmm3, [rsi - 32]
    movups xmm6, [rsi - 48]
    movups xmm7, [rsi - 64]
    movups [rdi - 16], xmm1
    movups [rdi - 32], xmm3
    movups [rdi - 48], xmm6
    movups [rdi - 64], xmm7
    sub rsi, 64
    sub rdi, 64
    cmp rdi, r8
    ja 61b
    movups [rax], xmm0
    movups [rax + 16], xmm2
    movups [rax + 32], xmm4
    movups [rax + 48], xmm5
    ret
    .cfi_endproc
    .size cassay_copy, . - cassay_copy
    .popsection
